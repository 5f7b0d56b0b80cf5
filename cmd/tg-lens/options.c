/* The options of tg-lens. */
#include "cmd/cli/model.h"
#include "cmd/tg-lens/job.h"

#define INDEX_MAX 1e15 /* until the model is known */

static const char examples[] = "  $ tg-lens -p 'To be, or not to'\n"
                               "  $ tg-lens -p 'To be, or not to' --position 4 -f tsv\n"
                               "  $ tg-lens -p 'To be, or not to' --attribute ' '\n"
                               "  $ tg-lens -p 'To be' -a n-e --tsv | sort -t \"$(printf '\\t')\" -gk6\n"
                               "  $ tg-lens -p 'To be, or not to' -o lens.npz";

static const char top_help[] = "the K most probable tokens of each line (default: 3); with --attribute: only "
                               "the K largest parts, the largest first";

/* Which options go together. */
static int check(const lens_options *o)
{
    const bool attributes = o->attribute || o->attribute_ids;

    if (o->target && o->target_id != NOT_GIVEN)
        return cli_usage("--target and --target-id cannot be combined");
    if (o->attribute && o->attribute_ids)
        return cli_usage("--attribute and --attribute-ids cannot be combined");
    if (attributes && (o->target || o->target_id != NOT_GIVEN))
        return cli_usage("--target does not go with --attribute, which names its token");
    if (attributes && o->layer != NOT_GIVEN)
        return cli_usage("--layer does not go with --attribute, which adds up all layers");
    if (attributes && o->output && o->top != NOT_GIVEN)
        return cli_usage("--top does not go with --attribute and --output, whose archive has all parts");
    if (!attributes && (o->keys || o->neurons > 0))
        return cli_usage("--%s goes with --attribute", o->keys ? "keys" : "neurons");
    if (o->output && (o->format_given || o->no_header || o->keys || o->neurons > 0))
        return cli_usage("--output writes an archive with all numbers: it takes no %s",
                         o->format_given ? "--format"
                         : o->no_header  ? "--no-header"
                         : o->keys       ? "--keys"
                                         : "--neurons");
    if (o->text.text && *o->text.text == '\0')
        return cli_usage("--prompt must not be empty");
    return cli_text_check(&o->text);
}

int lens_parse(int argc, char **argv, lens_options *o)
{
    bool probe_given = false;
    cli_option options[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model; '-' is standard input (default: $TG_MODEL, else model.npz)"),
        CLI_ADAPTER_OPTION,
        CLI_TEXT_OPTION('p', "prompt", &o->text.text, "TEXT",
                        "the text to run (default: standard input, text or tokens; else the model's probe)"),
        CLI_TEXT_OPTION(0, "ids", &o->text.ids, "IDS", CLI_IDS_HELP),
        CLI_CHOICE_OPTION(0, "probe", &o->text.probe, TG_PROBES, "a text that shows what heads do",
                          .given = &probe_given),
        CLI_BOS_OPTIONS(&o->text),
        CLI_SIZE_OPTION('l', "layer", &o->layer, "L", 0, INDEX_MAX,
                        "only after so many blocks: 0 is before the first"),
        CLI_SIZE_OPTION('t', "position", &o->position, "T", 0, INDEX_MAX,
                        "only after this token, from 0; of --attribute: default the last one"),
        CLI_SIZE_OPTION('k', "top", &o->top, "K", 0, INDEX_MAX, top_help),
        CLI_TEXT_OPTION(
            0, "target", &o->target, "TOKEN",
            "the token whose rank, probability and logit are shown (default: the text's next one)"),
        CLI_SIZE_OPTION(0, "target-id", &o->target_id, "ID", 0, INDEX_MAX, "the same, by its id"),
        CLI_TEXT_OPTION(
            'a', "attribute", &o->attribute, "TOKEN[-TOKEN]",
            "the logit of a token, or the difference of two, as a sum of what the embedding, each "
            "head, each MLP and each bias give"),
        CLI_TEXT_OPTION(0, "attribute-ids", &o->attribute_ids, "ID[-ID]", "the same, by their ids"),
        CLI_FLAG_OPTION(0, "keys", &o->keys,
                        "with --attribute: also what each head takes from each key's value"),
        CLI_SIZE_OPTION('n', "neurons", &o->neurons, "N", 1, INDEX_MAX,
                        "with --attribute: also the N units of each MLP that give most"),
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
        .name = "tg-lens",
        .usage = "[-m MODEL] [-p TEXT] [OPTION]...",
        .summary = "Print what a model would predict after each of its layers, or which parts of it a logit "
                   "is the sum of.",
        .examples = examples,
        .options = options,
    };
    int n;

    *o = (lens_options){.layer = NOT_GIVEN, .position = NOT_GIVEN, .target_id = NOT_GIVEN, .top = NOT_GIVEN};
    if ((n = cli_parse(argc, argv, &tool)) < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': give the text with -p or on standard input", argv[1]);
    o->text.has_probe = probe_given;
    return check(o);
}
