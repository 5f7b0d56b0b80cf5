/* tg-info: what is in a file. */
#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"

struct options {
    info_options show;
    char **file; /* [files] operands */
    size_t files;
};

static int parse(int argc, char **argv, struct options *o)
{
    info_options *show = &o->show;
    cli_option options[] = {
        {'s', "stats", CLI_FLAG, &show->stats, NULL,
         "also the least and the greatest number of each array, their mean and norm", 0, 0, NULL},
        {'c', "check", CLI_FLAG, &show->check, NULL,
         "check every byte: checksums, ids, and that all numbers are finite", 0, 0, NULL},
        {'a', "all", CLI_FLAG, &show->all, NULL,
         "list all arrays, also single numbers, the optimizer's and the tokenizer's", 0, 0, NULL},
        {'j', "json", CLI_FLAG, &show->json, NULL, "print a JSON object for each file, in a line", 0, 0,
         NULL},
        {'t', "tsv", CLI_FLAG, &show->tsv, NULL, "print the arrays as tab-separated values", 0, 0, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-info",
        .usage = "[OPTION]... [FILE]...",
        .summary =
            "Print what is in a file: its kind, the model's shape, the tokenizer, and each array with its "
            "type, shape and offset.  It may be a file of this project or another project's model; "
            "'-' is standard input.",
        .examples = "  $ tg-info model.npz\n"
                    "  $ tg-info --stats model.npz | sort -gk8\n"
                    "  $ tg-info --json model.npz | python3 -m json.tool\n"
                    "  $ tg-tokenize text | tg-info",
        .options = options,
        .files = true,
        .models = true,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (show->json && show->tsv)
        return cli_usage("--json and --tsv cannot be combined");
    o->file = argv + 1;
    o->files = (size_t)n;
    return CLI_OK;
}

static tg_status show_file(const char *path, const info_options *o, tg_err *err)
{
    const tg_info_want want = {.stats = o->stats, .check = o->check};
    tg_info info;
    const tg_status status = tg_info_open(&info, path, &want, err);

    if (status)
        return status;
    if (o->json)
        info_show_json(&info, o);
    else if (o->tsv)
        info_show_tsv(&info, o);
    else
        info_show_text(&info, o);
    tg_info_close(&info);
    return TG_OK;
}

/* Without operands: standard input, or the model that other tools would take. */
static const char *default_path(void)
{
    return cli_stdin_has_data() ? "-" : cli_model_path(NULL);
}

static tg_status run(const struct options *o, tg_err *err)
{
    tg_status status = TG_OK;

    if (o->show.tsv)
        info_print_titles(&o->show);
    if (o->files == 0)
        return show_file(default_path(), &o->show, err);
    for (size_t i = 0; !status && i < o->files && !cli_stdout_failed(); i++) {
        if (i > 0 && !o->show.json && !o->show.tsv)
            putchar('\n');
        status = show_file(o->file[i], &o->show, err);
    }
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    tg_err err = {0};

    cli_init("tg-info");
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
