/* The options of tg-circuit, and which of them go together. */
#include "cmd/tg-circuit/job.h"

#define INDEX_MAX 1e15 /* until the model is known */

static const char examples[] =
    "  $ tg-circuit\n"
    "  $ tg-circuit -f tsv | sort -t \"$(printf '\\t')\" -gk 5 | tail -n 4\n"
    "  $ tg-circuit --compose -f tsv | sort -t \"$(printf '\\t')\" -gk 8 | tail -n 4";

int circuit_parse(int argc, char **argv, circuit_options *o)
{
    cli_option options[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model; '-' is standard input (default: $TG_MODEL, else model.npz)"),
        CLI_SIZE_OPTION('l', "layer", &o->filter.layer, "L", 0, INDEX_MAX, "only this layer, from 0"),
        CLI_SIZE_OPTION('a', "head", &o->filter.head, "H", 0, INDEX_MAX,
                        "only this head of each layer, from 0; with --compose, both are of the later head"),
        CLI_FLAG_OPTION(0, "compose", &o->compose,
                        "print a line per pair of heads in different layers and per kind of composition: how "
                        "strongly the later one reads what the earlier one writes"),
        CLI_ENUM_OPTION('f', "format", &o->format, TABLE_FORMATS,
                        "aligned columns, tab-separated values, or a JSON object per line"),
        CLI_FLAG_OPTION(0, "no-header", &o->no_header,
                        "print neither the explanations before the numbers nor titles"),
        CLI_THREADS(&o->threads, "the results"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-circuit",
        .usage = "[-m MODEL] [--compose] [OPTION]...",
        .summary = "Print what attention heads do by their weights alone: copying, attention to the same "
                   "token or the previous position, and how heads compose.",
        .examples = examples,
        .options = options,
    };
    int n;

    o->filter = TG_ATTN_KEEP_ALL;
    if ((n = cli_parse(argc, argv, &tool)) < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': the model is named with -m", argv[1]);
    return CLI_OK;
}
