/* tg-info: what is in a file, and how runs of training compare. */
#include <string.h>
#include <strings.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-info/compare.h"
#include "cmd/tg-info/show.h"

enum format { TEXT, TSV, JSONL };

struct options {
    info_options show;
    bool losses, svg;
    const char *output;
    size_t format;
    bool format_given;
    char **file; /* [files] operands */
    size_t files;
};

/* One spelling for all: --json and --tsv are short for a format, an image is one of losses. */
static int combine(struct options *o)
{
    info_options *show = &o->show;
    const char *ending = o->output ? cli_ending(o->output) : NULL;

    if (show->json && show->tsv)
        return cli_usage("--json and --tsv cannot be combined");
    if (o->format_given && ((show->json && o->format != JSONL) || (show->tsv && o->format != TSV)))
        return cli_usage("--format and --%s cannot be combined", show->json ? "json" : "tsv");
    show->json = show->json || o->format == JSONL;
    show->tsv = show->tsv || o->format == TSV;
    if (o->output && !cli_is_dash(o->output) && (!ending || strcasecmp(ending, "svg") != 0))
        return cli_usage("%s: -o writes losses as an SVG image, expected a name that ends in .svg",
                         o->output);
    o->svg = o->svg || o->output;
    if (o->svg && (show->json || show->tsv))
        return cli_usage("an SVG image has no other format: leave out --%s", show->json ? "json" : "tsv");
    o->losses = o->losses || o->svg;
    if (o->losses && (show->stats || show->check || show->all))
        return cli_usage("--losses shows no arrays: it cannot be combined with --%s", show->stats   ? "stats"
                                                                                      : show->check ? "check"
                                                                                                    : "all");
    if (o->losses && show->no_header)
        return cli_usage(
            "--losses has a column for each file, and needs their titles: leave out --no-header");
    if (o->losses && show->json)
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
            'l', "losses", &o->losses,
            "print only the losses of runs: a table and a plot, also of one; with -f tsv, all of them"),
        CLI_FLAG_OPTION(0, "svg", &o->svg, "draw the losses of all files as an SVG image"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE",
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
            "and "
            "each "
            "array with its type, shape and offset.  It may be a file of this project, a log of tg-train, or "
            "another project's model; '-' is standard input.  Several trained models or logs are compared: "
            "their losses, in one table and one plot.",
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

/* Show all files.  Trained models and logs are kept as long as there is nothing else, and compared at the
 * end;
 * --losses insists on it. */
static tg_status show_files(const struct options *o, char *const *path, size_t n, info_held *held,
                            tg_err *err)
{
    const info_options *s = &o->show;
    const tg_info_want want = {.stats = s->stats, .check = s->check};
    bool compares = o->losses || info_may_compare(s, n), any = false;
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < n && !cli_stdout_failed(); i++) {
        tg_info *info = &held->info[held->n];

        if ((status = tg_info_open(info, path[i], &want, err)))
            break;
        held->n++;
        if (o->losses)
            status = info_check_run(info, err);
        else if (!compares || !(compares = info_is_run(info)))
            status = show_each(held, s, &any, err);
    }
    if (status) /* of a comparison, nothing is shown then */
        return status;
    if (compares && (o->losses || info_are_runs(held)))
        return info_compare(held, &(info_how){.svg = o->svg, .output = o->output, .tsv = s->tsv}, err);
    return show_each(held, s, &any, err);
}

/* Without operands: standard input, or the model that other tools would take. */
static const char *default_path(void)
{
    return cli_stdin_has_data() ? "-" : cli_model_path(NULL);
}

static tg_status run(const struct options *o, tg_err *err)
{
    static info_held held;
    char *path = o->files == 0 ? (char *)default_path() : NULL;
    char **files = path ? &path : o->file;
    const size_t n = path ? 1 : o->files;
    tg_status status;

    if (o->losses && n > INFO_RUNS_MAX)
        return tg_fail(err, TG_EUSAGE, "%zu files, --losses compares at most %d", n, INFO_RUNS_MAX);
    if (o->show.tsv && !o->losses && !o->show.no_header)
        info_print_titles(&o->show);
    status = show_files(o, files, n, &held, err);
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
