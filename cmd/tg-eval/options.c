/* The options of tg-eval. */
#include "cmd/cli/model.h"
#include "cmd/tg-eval/job.h"

static const char examples[] = "  $ tg-eval text\n"
                               "  $ tg-eval --stride 32 < text\n"
                               "  $ tg-tokenize text | tg-eval --tsv\n"
                               "  $ tg-eval -p 'To be, or not to be' --per-token --top 3\n"
                               "  $ tg-eval -p 'To be' --logits -o logits.npz";

static int check_choices(const eval_options *o)
{
    const char *other = o->files > 0               ? "texts"
                        : cli_text_given(&o->text) ? "--prompt or --ids"
                        : o->per_token             ? "--per-token"
                        : o->logits                ? "--logits"
                        : o->stride > 0            ? "--stride"
                                                   : NULL;

    if (o->choices && other)
        return cli_usage("--choices cannot be combined with %s", other);
    if (o->choices && o->model && cli_is_dash(o->model) && cli_is_dash(o->choices))
        return cli_usage("standard input cannot be both the model and the choices");
    return CLI_OK;
}

/* Which options go together. */
static int check(const eval_options *o)
{
    if (check_choices(o))
        return CLI_USAGE;
    if (cli_text_given(&o->text) && o->files > 0)
        return cli_usage("%s: -p or --ids names a text already", o->file[0]);
    if (o->eot && o->text.bos)
        return cli_usage("--eot and --bos both put a token before each text: give only one");
    if (o->logits && o->per_token)
        return cli_usage("--logits and --per-token cannot be combined");
    if (o->format_given && o->logits)
        return cli_usage("--format does not go with --logits, which writes an archive");
    if (o->format_given && o->format == EVAL_TEXT && o->per_token)
        return cli_usage("--per-token prints --format tsv or jsonl, not text");
    if (o->output && !o->logits)
        return cli_usage("--output goes with --logits");
    if (o->logits && o->files > 1)
        return cli_usage("--logits takes one text, got %zu files", o->files);
    if (o->context > 0 && o->stride > o->context)
        return cli_usage("--stride %zu exceeds --context %zu: tokens between the windows would be left out",
                         o->stride, o->context);
    for (size_t i = 0; i < o->files; i++)
        if (o->model && cli_is_dash(o->model) && cli_is_dash(o->file[i]))
            return cli_usage("standard input cannot be both the model and a text");
    return cli_text_check(&o->text);
}

int eval_parse(int argc, char **argv, eval_options *o)
{
    cli_option options[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model; '-' is standard input (default: $TG_MODEL, else model.npz)"),
        CLI_ADAPTER_OPTION,
        CLI_TEXT_OPTION(
            'p', "prompt", &o->text.text, "TEXT",
            "the text (default: the files, else standard input, text or tokens; else the model's probe)"),
        CLI_TEXT_OPTION(0, "ids", &o->text.ids, "IDS", CLI_IDS_HELP),
        CLI_SIZE_OPTION('c', "context", &o->context, "N", 1, 1e9,
                        "tokens that the model sees at once, a window (default: its context, at most 4096)"),
        CLI_SIZE_OPTION('s', "stride", &o->stride, "N", 1, 1e9,
                        "tokens from one window to the next; smaller ones give each token more context, and "
                        "take longer (default: the window, so that windows are adjacent)"),
        CLI_BOS_OPTIONS(&o->text),
        CLI_FLAG_OPTION(0, "eot", &o->eot,
                        "put the tokenizer's end-of-text token before each text, so that its first token is "
                        "scored as well"),
        CLI_FLAG_OPTION('t', "per-token", &o->per_token,
                        "print each token's bytes, text, log-probability, rank and entropy, as tab-separated "
                        "values or JSON"),
        CLI_SIZE_OPTION('k', "top", &o->top, "K", 1, 1e9,
                        "with these, also the K most probable tokens in its place; implies --per-token"),
        CLI_INPUT_OPTION(
            0, "choices", &o->choices, "FILE",
            "say which continuation of a context is the most probable: each line is a JSON object "
            "with \"context\", \"continuations\" and, for the accuracy, \"label\""),
        CLI_FLAG_OPTION(0, "logits", &o->logits, "write the logits after each token as an archive (.npz)"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE",
                          "write --logits to FILE instead of standard output"),
        CLI_FORCE(0),
        CLI_ENUM_OPTION('f', "format", &o->format, EVAL_FORMATS,
                        "lines for the eye, tab-separated values, or a JSON object; of --per-token: values, "
                        "or an object for each",
                        .given = &o->format_given),
        CLI_FLAG_OPTION(0, "no-header", &o->no_header,
                        "leave out the line of titles of tab-separated values"),
        CLI_THREADS(&o->threads, "the results"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-eval",
        .usage = "[-m MODEL] [OPTION]... [FILE]...",
        .summary = "Print how well a model predicts a text: loss, perplexity and bits per byte.  The text is "
                   "cut into windows; each token is scored once, from those before it in its window.",
        .examples = examples,
        .options = options,
        .files = true,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    o->file = argv + 1;
    o->files = (size_t)n;
    o->per_token = o->per_token || o->top > 0;
    if (o->per_token && !o->format_given)
        o->format = EVAL_TSV;
    return check(o);
}
