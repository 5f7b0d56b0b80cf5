/* The options of tg-circuit, and which of them go together. */
#include "cmd/cli/model.h"
#include "cmd/tg-circuit/job.h"

#define INDEX_MAX 1e15 /* until the model is known */

static const char examples[] =
    "  $ tg-circuit\n"
    "  $ tg-circuit -f tsv | sort -t \"$(printf '\\t')\" -gk 5 | tail -n 4\n"
    "  $ tg-circuit --tokens --layer 0 --head 1\n"
    "  $ tg-circuit --compose -f tsv | sort -t \"$(printf '\\t')\" -gk 8 | tail -n 4\n"
    "  $ tg-circuit -o circuit.npz";

/* Which options go together. */
static int check(const circuit_options *o)
{
    const bool token = o->token || o->token_id != NOT_GIVEN;

    if (o->compose && o->tokens)
        return cli_usage("--compose and --tokens cannot be combined");
    if (o->token && o->token_id != NOT_GIVEN)
        return cli_usage("--token and --token-id cannot be combined");
    if (!o->tokens && (token || o->top_given || o->directions_given))
        return cli_usage("--%s goes with --tokens", o->token       ? "token"
                                                    : token        ? "token-id"
                                                    : o->top_given ? "top"
                                                                   : "directions");
    if (token && o->directions_given)
        return cli_usage("--directions does not go with a token");
    if (o->output && (o->tokens || o->format_given || o->no_header))
        return cli_usage("--output writes an archive of heads or of pairs: it takes no %s",
                         o->tokens         ? "--tokens"
                         : o->format_given ? "--format"
                                           : "--no-header");
    return CLI_OK;
}

int circuit_parse(int argc, char **argv, circuit_options *o)
{
    cli_option options[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model; '-' is standard input (default: $TG_MODEL, else model.npz)"),
        CLI_ADAPTER_OPTION,
        CLI_SIZE_OPTION('l', "layer", &o->filter.layer, "L", 0, INDEX_MAX, "only this layer, from 0"),
        CLI_SIZE_OPTION('a', "head", &o->filter.head, "H", 0, INDEX_MAX,
                        "only this head of each layer, from 0; with --compose, both are of the later head"),
        CLI_FLAG_OPTION(0, "compose", &o->compose,
                        "print a line per pair of heads in different layers and per kind of composition: how "
                        "strongly the later one reads what the earlier one writes"),
        CLI_FLAG_OPTION(
            0, "tokens", &o->tokens,
            "print a line per token at the ends of what a head does: of the strongest directions of "
            "OV and QK, or of a token"),
        CLI_TEXT_OPTION(0, "token", &o->token, "TOKEN",
                        "with --tokens: what heads do with this token, in place of directions"),
        CLI_SIZE_OPTION(0, "token-id", &o->token_id, "ID", 0, INDEX_MAX, "the same, by its id"),
        CLI_SIZE_OPTION('k', "top", &o->top, "K", 1, 1e6, "with --tokens: how many tokens of each end",
                        .given = &o->top_given),
        CLI_SIZE_OPTION('n', "directions", &o->directions, "N", 1, 1e6,
                        "with --tokens: how many directions of each circuit", .given = &o->directions_given),
        CLI_ENUM_OPTION('f', "format", &o->format, TABLE_FORMATS,
                        "aligned columns, tab-separated values, or a JSON object per line",
                        .given = &o->format_given),
        CLI_FLAG_OPTION(0, "no-header", &o->no_header,
                        "print neither the explanations before the numbers nor titles"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE",
                          "write an archive (.npz) of whole arrays instead of lines; '-' is standard output"),
        CLI_FORCE(0),
        CLI_THREADS(&o->threads, "the results"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-circuit",
        .usage = "[-m MODEL] [--compose | --tokens] [OPTION]...",
        .summary = "Print what attention heads do by their weights alone: copying, attention to the same "
                   "token or the previous position, and how heads compose.",
        .examples = examples,
        .options = options,
    };
    int n;

    *o = (circuit_options){.filter = TG_ATTN_KEEP_ALL, .token_id = NOT_GIVEN, .top = 5, .directions = 3};
    if ((n = cli_parse(argc, argv, &tool)) < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': the model is named with -m", argv[1]);
    return check(o);
}
