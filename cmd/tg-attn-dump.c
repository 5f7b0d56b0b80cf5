/* tg-attn-dump: every score and probability of attention, with the place of each number. */
#include "cmd/attn_dump.h"
#include "lib/attn/example.h"

#define INDEX_MAX 1e15 /* what --layer and the like take before the model is known */

static int parse(int argc, char **argv, attn_options *o)
{
    cli_option options[] = {
        {'m', "model", CLI_TEXT, &o->model, "FILE",
         "the model ('-': standard input); else $TG_MODEL, else model.npz", 0, 0, NULL},
        {'p', "prompt", CLI_TEXT, &o->text, "TEXT",
         "the text to run; else standard input, text or tokens; else the model's probe", 0, 0, NULL},
        {'l', "layer", CLI_SIZE, &o->pick.layer, "L", "only this layer, from 0", 0, INDEX_MAX, NULL},
        {'a', "head", CLI_SIZE, &o->pick.head, "H", "only this head, from 0", 0, INDEX_MAX, NULL},
        {'i', "query", CLI_SIZE, &o->pick.query, "I", "only this query position, from 0", 0, INDEX_MAX, NULL},
        {'j', "key", CLI_SIZE, &o->pick.key, "J", "only this key position, from 0", 0, INDEX_MAX, NULL},
        {'H', "heads", CLI_SIZE, &o->heads, "H",
         "read the channels as this many heads; must divide their number", 1, INDEX_MAX, NULL},
        {'f', "format", CLI_CHOICE, &o->format, "text|tsv", "aligned columns, or tab-separated values", 0, 0,
         NULL},
        {0, "example", CLI_CHOICE, &o->example, TG_ATTN_EXAMPLES, "a small worked example; needs no model", 0,
         0, NULL},
        {0, "qkv", CLI_TEXT, &o->qkv, "FILE", "arrays q, k and v [B,T,C] from an .npz; needs no model", 0, 0,
         NULL},
        {0, "trace", CLI_TEXT, &o->trace.element, "B,H,I,J",
         "show how this score comes about; B,I,J with one head", 0, 0, NULL},
        {0, "through", CLI_CHOICE, &o->trace.through, "att|out",
         "trace on to the weighted sum, or to the output projection", 0, 0, NULL},
        {0, "channel", CLI_TEXT, &o->trace.channel, "D[,C]",
         "trace channel D of the head's weighted sum, and C of the output", 0, 0, NULL},
        {0, "backward", CLI_FLAG, &o->trace.backward, NULL, "trace the score's gradient, too", 0, 0, NULL},
        {0, "target", CLI_TEXT, &o->trace.target, "TOKEN",
         "the gradient of the loss when this token is to follow the text", 0, 0, NULL},
        {0, "target-id", CLI_SIZE, &o->trace.target_id, "ID", "the same, by its number", 0, INDEX_MAX, NULL},
        {0, "threads", CLI_SIZE, &o->threads, "N",
         "threads, which do not change a number; 0 for one a processor", 0, 1024, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-attn-dump",
        .usage = "[-m MODEL] [-p TEXT] [OPTION]...",
        .summary = "Print every attention score and probability, with the place of each number in memory.",
        .examples = "  $ tg-attn-dump | less\n"
                    "  $ tg-attn-dump -p 'To be' --layer 0 --head 0 --query 4\n"
                    "  $ head -c 16 text | tg-attn-dump --heads 2 --format tsv\n"
                    "  $ tg-attn-dump --example baseline\n"
                    "  $ tg-attn-dump --example baseline --trace 0,2,1 --through att",
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': text is given with -p or on standard input", argv[1]);
    if ((o->example != ATTN_NONE) + (o->qkv != NULL) + (o->model != NULL || o->text != NULL) > 1)
        return cli_usage("--example, --qkv, and -m or -p, each say what to show: give one");
    if (o->text && *o->text == '\0')
        return cli_usage("--prompt is empty");
    return attn_trace_parse(o);
}

static tg_status run(const attn_options *o, tg_err *err)
{
    attn_subject s;
    tg_status status;

    if ((status = cli_begin_compute(o->threads, err)) || (status = attn_subject_open(&s, o, err)))
        return status;
    status = o->trace.element ? attn_show_trace(&s, o, err) : attn_show_rows(&s, o, err);
    if (status == TG_EDATA && s.path)
        status = tg_err_in(err, cli_input_name(s.path));
    attn_subject_close(&s);
    return status;
}

int main(int argc, char **argv)
{
    attn_options o = {
        .example = ATTN_NONE,
        .heads = ATTN_NONE,
        .pick = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL},
        .trace = {.through = ATTN_NONE, .target_id = ATTN_NONE},
    };
    tg_err err = {0};

    cli_init("tg-attn-dump");
    cli_init_threads(argv);
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
