/* The options of tg-attn-dump, and which of them go together. */
#include <assert.h>
#include <string.h>

#include "cmd/tg-attn-dump/attn_dump.h"
#include "lib/attn/example.h"

#define INDEX_MAX 1e15 /* what --layer and the like take before the model is known */

/* ---- which options go with what is made */

/* What can be made; an option asks for each but the first. */
enum view { ROWS, OUTPUT, CHECK, SUMMARY, ABLATE, TRACE, VIEWS };

static const struct {
    const char *option, *which; /* "--output, which ..." */
} views[VIEWS] = {
    [ROWS] = {"", ""},
    [OUTPUT] = {"output", "writes an archive of whole arrays, in which offsets hold"},
    [CHECK] = {"check", "takes all from the dump but the model, or --qkv or --example"},
    [SUMMARY] = {"summary", "shows heads, not numbers with places"},
    [ABLATE] = {"ablate", "shows the loss on the whole text, not numbers with places"},
    [TRACE] = {"trace", "shows one score, in words"},
};

#define IN(view) (1u << (view))
#define ALL (IN(VIEWS) - 1)

/* Options that are not here go with all of them. */
static const struct {
    const char *option;
    unsigned views;
} limits[] = {
    {"prompt", ALL & ~IN(CHECK)},
    {"heads", ALL & ~IN(CHECK)},
    {"layer", ALL & ~IN(CHECK)},
    {"head", IN(ROWS) | IN(SUMMARY) | IN(ABLATE)},
    {"query", IN(ROWS) | IN(SUMMARY)},
    {"key", IN(ROWS)},
    {"format", IN(ROWS) | IN(SUMMARY) | IN(ABLATE)},
    {"stage", IN(ROWS) | IN(OUTPUT)},
    {"layout", IN(ROWS) | IN(OUTPUT)},
    {"mask", IN(ROWS) | IN(OUTPUT)},
    {"tolerance", IN(CHECK)},
    {"through", IN(TRACE)},
    {"channel", IN(TRACE)},
    {"backward", IN(TRACE)},
    {"target", IN(TRACE)},
    {"target-id", IN(TRACE)},
};

static bool is_given(const cli_option *options, const char *name)
{
    while (options->name && strcmp(options->name, name) != 0)
        options++;
    assert(options->name);
    return *options->given;
}

/* What the options ask for; CLI_USAGE: for two things at once. */
static int find_view(enum view *view, const cli_option *options)
{
    *view = ROWS;
    for (enum view v = OUTPUT; v < VIEWS; v++) {
        if (!is_given(options, views[v].option))
            continue;
        if (*view != ROWS)
            return cli_usage("--%s and --%s each say what to make: give one", views[*view].option,
                             views[v].option);
        *view = v;
    }
    return CLI_OK;
}

/* The one thing that asks for an option like --tolerance. */
static enum view first_view(unsigned of)
{
    enum view v = ROWS;

    while (!(of & IN(v)))
        v++;
    return v;
}

static int check_limits(const cli_option *options)
{
    enum view view;

    if (find_view(&view, options))
        return CLI_USAGE;
    for (size_t n = 0; n < sizeof limits / sizeof limits[0]; n++) {
        const char *option = limits[n].option;

        if (!is_given(options, option) || limits[n].views & IN(view))
            continue;
        if (view == ROWS)
            return cli_usage("--%s goes with --%s", option, views[first_view(limits[n].views)].option);
        return cli_usage("--%s does not go with --%s, which %s", option, views[view].option,
                         views[view].which);
    }
    return CLI_OK;
}

static int check_sources(const attn_options *o)
{
    if ((o->example != ATTN_NONE) + (o->qkv != NULL) + (o->model != NULL || o->text != NULL) > 1)
        return cli_usage("--example, --qkv, and -m or -p, each say what to show: give one");
    if (o->text && *o->text == '\0')
        return cli_usage("--prompt is empty");
    if (o->check && cli_is_dash(o->check) &&
        ((o->model && cli_is_dash(o->model)) || (o->qkv && cli_is_dash(o->qkv))))
        return cli_usage("standard input cannot be both the dump and what it was made from");
    return CLI_OK;
}

static int check_all(attn_options *o, const cli_option *options)
{
    if (check_sources(o) || check_limits(options) || (o->ablate && attn_ablate_check(o)) ||
        (o->trace.element && attn_trace_parse(o)))
        return CLI_USAGE;
    return CLI_OK;
}

/* ---- all of them */

static const char examples[] = "  $ tg-attn-dump | less\n"
                               "  $ tg-attn-dump -p 'To be' --layer 0 --head 0 --query 4\n"
                               "  $ head -c 16 text | tg-attn-dump --heads 2 --format tsv\n"
                               "  $ tg-attn-dump --summary -f tsv | sort -gk9 | tail\n"
                               "  $ tg-attn-dump --ablate all < text\n"
                               "  $ tg-attn-dump -p 'To be' -o - | tg-attn-view\n"
                               "  $ tg-attn-dump --example baseline\n"
                               "  $ tg-attn-dump --example baseline --trace 0,2,1 --through att";

/* Into what the options point to; given[i] says whether option i was there. */
static int read_words(int argc, char **argv, cli_option *options, bool *given)
{
    const cli_tool tool = {
        .name = "tg-attn-dump",
        .usage = "[-m MODEL] [-p TEXT] [OPTION]...",
        .summary = "Print every attention score and probability, with the place of each number in memory.",
        .examples = examples,
        .options = options,
    };
    int n;

    for (size_t i = 0; options[i].name; i++)
        options[i].given = &given[i];
    if ((n = cli_parse(argc, argv, &tool)) < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': text is given with -p or on standard input", argv[1]);
    return CLI_OK;
}

int attn_parse(int argc, char **argv, attn_options *o)
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
         "aligned columns, tab-separated values, or a JSON object a line", 0, 0, NULL},
        {'s', "stage", CLI_CHOICE, &o->stage, TG_ATTN_STAGES,
         "this stage alone, not scores with probabilities; of an archive, not all stages", 0, 0, NULL},
        {0, "layout", CLI_CHOICE, &o->layout, TG_ATTN_LAYOUTS,
         "the order of q, k, v and att: as they lie in [B,T,C], or heads first, copied", 0, 0, NULL},
        {0, "mask", CLI_CHOICE, &o->mask, TG_ATTN_MASKS,
         "what stands for a masked score; min is the least float32; probabilities stay", 0, 0, NULL},
        {'o', "output", CLI_TEXT, &o->output, "FILE",
         "write a dump, an archive (.npz) of whole arrays, not lines; '-': standard output", 0, 0, NULL},
        {0, "check", CLI_TEXT, &o->check, "FILE",
         "compute the dump in FILE again, and compare it element by element", 0, 0, NULL},
        {0, "tolerance", CLI_NUMBER, &o->tolerance, "X",
         "with --check: a difference that counts as equal, relative above 1", 0, 1, NULL},
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
    bool given[sizeof options / sizeof options[0]] = {false};

    *o = (attn_options){
        .example = ATTN_NONE,
        .heads = ATTN_NONE,
        .stage = TG_ATTN_EVERY,
        .pick = TG_ATTN_PICK_ALL,
        .trace = {.through = ATTN_NONE, .target_id = ATTN_NONE},
    };
    if (read_words(argc, argv, options, given) || check_all(o, options))
        return CLI_USAGE;
    return CLI_OK;
}
