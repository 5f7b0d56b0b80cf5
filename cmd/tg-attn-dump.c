/* tg-attn-dump: every score and probability of attention, with the place of each number. */
#include "cmd/attn_dump.h"
#include "lib/attn/example.h"

#define INDEX_MAX 1e15 /* what --layer and the like take before the model is known */

/* --summary, --ablate and --trace show something of their own, and do not take all that
 * rows do. */
static int check_views(const attn_options *o)
{
    const char *view = o->ablate ? "ablate" : o->summary ? "summary" : o->trace.element ? "trace" : NULL;

    if (!view)
        return CLI_OK;
    if (o->summary + (o->ablate != NULL) + (o->trace.element != NULL) > 1)
        return cli_usage("--summary, --ablate and --trace each show something else: give one");
    if (!o->trace.element && o->pick.key != TG_ATTN_ALL)
        return cli_usage("--key is for single scores: it does not go with --%s", view);
    if (o->stage != TG_ATTN_EVERY || o->layout_given || o->mask_given || o->output || o->check)
        return cli_usage("--stage, --layout, --mask, --output and --check are for numbers with places: they "
                         "do not go with --%s",
                         view);
    return o->ablate ? attn_ablate_check(o) : CLI_OK;
}

/* A part of an array would have other offsets, and an archive has one format. */
static int check_output(const attn_options *o)
{
    if (o->output &&
        (o->pick.head != TG_ATTN_ALL || o->pick.query != TG_ATTN_ALL || o->pick.key != TG_ATTN_ALL))
        return cli_usage("--output writes whole arrays, in which offsets hold: --head, --query and --key are "
                         "for lines");
    if (o->output && o->format_given)
        return cli_usage("--output writes an archive: --format is for lines");
    return CLI_OK;
}

static int check_check(const attn_options *o)
{
    const tg_attn_pick *p = &o->pick;
    const bool picked =
        p->layer != TG_ATTN_ALL || p->head != TG_ATTN_ALL || p->query != TG_ATTN_ALL || p->key != TG_ATTN_ALL;

    if (o->tolerance_given && !o->check)
        return cli_usage("--tolerance is for --check");
    if (o->check && (picked || o->text || o->heads != ATTN_NONE || o->stage != TG_ATTN_EVERY ||
                     o->format_given || o->layout_given || o->mask_given || o->output))
        return cli_usage("--check takes all from the dump but the model, or --qkv or --example");
    if (o->check && cli_is_dash(o->check) &&
        ((o->model && cli_is_dash(o->model)) || (o->qkv && cli_is_dash(o->qkv))))
        return cli_usage("standard input cannot be both the dump and what it was made from");
    return CLI_OK;
}

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
        {'f', "format", CLI_CHOICE, &o->format, TG_ATTN_FORMATS,
         "aligned columns, tab-separated values, or a JSON object a line", 0, 0, &o->format_given},
        {'s', "stage", CLI_CHOICE, &o->stage, TG_ATTN_STAGES,
         "this stage alone, not scores with probabilities; of an archive, not all stages", 0, 0, NULL},
        {0, "layout", CLI_CHOICE, &o->layout, TG_ATTN_LAYOUTS,
         "the order of q, k, v and att: as they lie in [B,T,C], or heads first, copied", 0, 0,
         &o->layout_given},
        {0, "mask", CLI_CHOICE, &o->mask, TG_ATTN_MASKS,
         "what stands for a masked score; min is the least float32; probabilities stay", 0, 0,
         &o->mask_given},
        {'o', "output", CLI_TEXT, &o->output, "FILE",
         "write a dump, an archive (.npz) of whole arrays, not lines; '-': standard output", 0, 0, NULL},
        {0, "check", CLI_TEXT, &o->check, "FILE",
         "compute the dump in FILE again, and compare it element by element", 0, 0, NULL},
        {0, "tolerance", CLI_NUMBER, &o->tolerance, "X",
         "with --check: a difference that counts as equal, relative above 1", 0, 1, &o->tolerance_given},
        {0, "example", CLI_CHOICE, &o->example, TG_ATTN_EXAMPLES, "a small worked example; needs no model", 0,
         0, NULL},
        {0, "qkv", CLI_TEXT, &o->qkv, "FILE", "arrays q, k and v [B,T,C] from an .npz; needs no model", 0, 0,
         NULL},
        {0, "summary", CLI_FLAG, &o->summary, NULL, "a line for each head: what it is like", 0, 0, NULL},
        {0, "ablate", CLI_TEXT, &o->ablate, "L.H,...|all",
         "the change in loss without these heads, or without each in turn", 0, 0, NULL},
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
                    "  $ tg-attn-dump --summary -f tsv | sort -gk9 | tail\n"
                    "  $ tg-attn-dump --ablate all < text\n"
                    "  $ tg-attn-dump -p 'To be' -o - | tg-attn-view\n"
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
    return check_views(o) || check_output(o) || check_check(o) || attn_trace_parse(o) ? CLI_USAGE : CLI_OK;
}

/* The way to show it that the options ask for. */
static tg_status show(attn_subject *s, const attn_options *o, tg_err *err)
{
    const bool rows = o->stage == TG_ATTN_EVERY || tg_attn_stage_square((tg_attn_stage)o->stage);

    if (o->trace.element)
        return attn_show_trace(s, o, err);
    if (o->summary)
        return attn_show_summary(s, o, err);
    if (o->output)
        return attn_write_archive(s, o, err);
    return rows ? attn_show_rows(s, o, err) : attn_show_stage(s, o, err);
}

static tg_status run(const attn_options *o, tg_err *err)
{
    attn_subject s;
    tg_status status = cli_begin_compute(o->threads, err);

    if (status)
        return status;
    if (o->ablate)
        return attn_show_ablation(o, err);
    if (o->check)
        return attn_check_archive(o, err);
    if ((status = attn_subject_open(&s, o, err)))
        return status;
    status = show(&s, o, err);
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
        .stage = TG_ATTN_EVERY,
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
