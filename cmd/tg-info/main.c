/* tg-info: what is in a file, and how runs of training compare. */
#include <string.h>
#include <strings.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"

enum format { TEXT, TSV, JSONL };

struct options {
    info_options show;
    size_t format;
    bool format_given;
    char **file; /* [files] operands */
    size_t files;
};

/* One spelling for all: --json and --tsv are short for a format, an image is one of losses. */
static int combine(struct options *o)
{
    info_options *show = &o->show;
    const char *ending = show->output ? cli_ending(show->output) : NULL;

    if (show->json && show->tsv)
        return cli_usage("--json and --tsv cannot be combined");
    if (o->format_given && ((show->json && o->format != JSONL) || (show->tsv && o->format != TSV)))
        return cli_usage("--format and --%s cannot be combined", show->json ? "json" : "tsv");
    show->json = show->json || o->format == JSONL;
    show->tsv = show->tsv || o->format == TSV;
    if (show->output && !cli_is_dash(show->output) && (!ending || strcasecmp(ending, "svg") != 0))
        return cli_usage("%s: -o writes losses as an SVG image, expected a name that ends in .svg",
                         show->output);
    show->svg = show->svg || show->output;
    if (show->svg && (show->json || show->tsv))
        return cli_usage("an SVG image has no other format: leave out --%s", show->json ? "json" : "tsv");
    show->losses = show->losses || show->svg;
    if (show->losses && (show->stats || show->check || show->all))
        return cli_usage("--losses shows no arrays: it cannot be combined with --%s", show->stats   ? "stats"
                                                                                      : show->check ? "check"
                                                                                                    : "all");
    if (show->losses && show->no_header)
        return cli_usage(
            "--losses has a column for each file, and needs their titles: leave out --no-header");
    if (show->losses && show->json)
        return cli_usage(
            "--losses is a table, as text or TSV; without it, --json prints the losses of each file");
    return CLI_OK;
}

static int parse(int argc, char **argv, struct options *o)
{
    info_options *show = &o->show;
    cli_option options[] = {
        CLI_FLAG_OPTION('s', "stats", &show->stats,
                        "also the least and the greatest number of each array, their mean and norm"),
        CLI_FLAG_OPTION('c', "check", &show->check,
                        "check every byte: checksums, ids, and that all numbers are finite"),
        CLI_FLAG_OPTION(
            'a', "all", &show->all,
            "list all arrays, also a model's, single numbers, the optimizer's and the tokenizer's"),
        CLI_FLAG_OPTION(
            'l', "losses", &show->losses,
            "print only the losses of runs: a table and a plot, also of one; with -f tsv, all of them"),
        CLI_FLAG_OPTION(0, "svg", &show->svg, "draw the losses of all files as an SVG image"),
        CLI_OUTPUT_OPTION('o', "output", &show->output, "FILE",
                          "write that image to FILE, whose name ends in .svg"),
        CLI_FORCE(0),
        CLI_CHOICE_OPTION(
            'f', "format", &o->format, "text|tsv|jsonl",
            "text; the arrays as tab-separated values; or a JSON object for each file, in a line",
            .given = &o->format_given),
        CLI_FLAG_OPTION('j', "json", &show->json, "the same as --format jsonl"),
        CLI_FLAG_OPTION('t', "tsv", &show->tsv, "the same as --format tsv"),
        CLI_FLAG_OPTION(0, "no-header", &show->no_header, "with --tsv: leave out the line of titles"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-info",
        .usage = "[OPTION]... [FILE]...",
        .summary =
            "Print the contents of a file: its kind, the model's shape, the tokenizer, how training went, "
            "and each array with its type, shape and offset.  It may be a file of this project, a log of "
            "tg-train, or another project's model; '-' is standard input.  Several trained models or logs "
            "are compared: their losses, in one table and one plot.",
        .examples = "  $ tg-info model.npz\n"
                    "  $ tg-info --all model.npz\n"
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
    o->file = argv + 1;
    o->files = (size_t)n;
    return combine(o);
}

static tg_status show(tg_info *info, const info_options *o, tg_err *err)
{
    if (o->json)
        info_show_json(info, o);
    else if (o->tsv)
        info_show_tsv(info, o);
    else
        return info_show_text(info, o, err);
    return TG_OK;
}

/* Show files that have been read one after another, and close them.  *any: one has been shown. */
static tg_status show_each(info_held *held, const info_options *o, bool *any, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; i < held->n; i++) {
        if (*any && !o->json && !o->tsv)
            putchar('\n');
        *any = true;
        if (!status)
            status = show(&held->info[i], o, err);
        tg_info_close(&held->info[i]);
    }
    held->n = 0;
    return status;
}

/* Whether files are compared if all are runs: as text, without a question about their arrays. */
static bool may_compare(const info_options *o, size_t files)
{
    return files > 1 && files <= INFO_RUNS_MAX && !o->stats && !o->check && !o->all && !o->json && !o->tsv;
}

/* Whether a file is a log or a model, which may be without losses. */
static bool is_run(const tg_info *info)
{
    return strcmp(info->kind, "log") == 0 || strcmp(info->kind, "model") == 0;
}

/* Whether at least two have losses. */
static bool are_runs(const info_held *held)
{
    size_t runs = 0;

    for (size_t i = 0; i < held->n; i++)
        runs += held->info[i].history.n > 0;
    return runs > 1;
}

static tg_status check_run(const tg_info *info, tg_err *err)
{
    if (info->history.n > 0)
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "%s: this %s has no losses, expected a log of tg-train or a model that it trained",
                   cli_input_name(info->path), info->kind);
}

/* Show all files.  Trained models and logs are kept as long as there is nothing else, and compared at the
 * end; --losses insists on it. */
static tg_status show_files(const info_options *o, char *const *path, size_t n, info_held *held, tg_err *err)
{
    const tg_info_want want = {.stats = o->stats, .check = o->check};
    bool compares = o->losses || may_compare(o, n), any = false;
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < n && !cli_stdout_failed(); i++) {
        tg_info *info = &held->info[held->n];

        if ((status = tg_info_open(info, path[i], &want, err)))
            break;
        held->n++;
        if (o->losses)
            status = check_run(info, err);
        else if (!compares || !(compares = is_run(info)))
            status = show_each(held, o, &any, err);
    }
    if (status) /* of a comparison, nothing is shown then */
        return status;
    if (compares && (o->losses || are_runs(held)))
        return info_compare(held, o, err);
    return show_each(held, o, &any, err);
}

static tg_status run(const struct options *o, tg_err *err)
{
    static info_held held;
    /* without operands: standard input, or the model that other tools would take */
    char *path = cli_stdin_has_data() ? "-" : (char *)cli_model_path(NULL);
    char **files = o->files == 0 ? &path : o->file;
    const size_t n = o->files == 0 ? 1 : o->files;
    tg_status status;

    if (o->show.losses && n > INFO_RUNS_MAX)
        return tg_fail(err, TG_EUSAGE, "%zu files, --losses compares at most %d", n, INFO_RUNS_MAX);
    if (o->show.tsv && !o->show.losses && !o->show.no_header)
        info_print_titles(&o->show);
    status = show_files(&o->show, files, n, &held, err);
    for (size_t i = 0; i < held.n; i++)
        tg_info_close(&held.info[i]);
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
