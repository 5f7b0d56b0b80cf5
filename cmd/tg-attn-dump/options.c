/* The options of tg-attn-dump, and which of them go together. */
#include "cmd/cli/model.h"
#include "cmd/tg-attn-dump/options.h"

#include <assert.h>
#include <string.h>

#include "cmd/tg-attn-dump/example.h"
#include "lib/base/choice.h"

#define INDEX_MAX 1e15 /* for --layer and the like, until the model is known */
#define OPTIONS_MAX 40

#define JOB_ADDRESS(name) &name##_job,
static const job *const jobs[] = {JOBS(JOB_ADDRESS)};
#define N_JOBS (sizeof jobs / sizeof jobs[0])

/* ---- which options go together */

static bool is_given(const cli_option *options, const char *name)
{
    while (options->name && strcmp(options->name, name) != 0)
        options++;
    assert(options->name);
    return *options->given;
}

/* The option that selects a job; NULL: none. */
static const char *name_of(const job *j)
{
    return j->options ? j->options[0].name : NULL;
}

/* Find the job that the options select.  CLI_USAGE: they select two. */
static int find_job(const job **what, const attn_options *o, const cli_option *options)
{
    const bool square = o->stage == TG_ATTN_EVERY || tg_attn_stage_square(o->stage);

    *what = NULL;
    for (size_t n = 0; n < N_JOBS; n++) {
        if (!name_of(jobs[n]) || !is_given(options, name_of(jobs[n])))
            continue;
        if (*what)
            return cli_usage("--%s and --%s cannot be combined", name_of(*what), name_of(jobs[n]));
        *what = jobs[n];
    }
    if (!*what)
        *what = square ? &rows_job : &stage_job;
    return CLI_OK;
}

/* The job that an option belongs to; NULL: a shared one. */
static const job *owner_of(const char *option)
{
    for (size_t j = 0; j < N_JOBS; j++)
        for (size_t n = 0; n < jobs[j]->n_options; n++)
            if (strcmp(jobs[j]->options[n].name, option) == 0)
                return jobs[j];
    return NULL;
}

static bool is_of_loss(const char *option)
{
    size_t number;

    return tg_choice_find(&number, "target|target-id", option);
}

static bool accepts(const job *j, const char *option)
{
    const job *owner = owner_of(option);
    size_t number;

    if (owner)
        return owner == j;
    if (is_of_loss(option))
        return j->accepts && tg_choice_find(&number, j->accepts, "target");
    if (tg_choice_find(&number, "ids|probe|bos|no-bos", option)) /* they go wherever a text goes */
        option = "prompt";
    if (strcmp(option, "adapter") == 0) /* likewise with a model */
        option = "model";
    return !j->accepts || tg_choice_find(&number, j->accepts, option);
}

static int check_accepted(const job *what, const cli_option *options)
{
    for (const cli_option *o = options; o->name; o++) {
        if (!*o->given || accepts(what, o->name))
            continue;
        if (name_of(what))
            return cli_usage("--%s does not go with --%s, which %s", o->name, name_of(what), what->about);
        return cli_usage("--%s goes with --%s", o->name,
                         is_of_loss(o->name) ? "trace, or with -o" : name_of(owner_of(o->name)));
    }
    return CLI_OK;
}

static int check_sources(const attn_options *o)
{
    if ((o->example != NOT_GIVEN) + (o->qkv != NULL) + (o->model != NULL || cli_text_given(&o->text)) > 1)
        return cli_usage(
            "--example, --qkv, and -m, -p, --ids or --probe name different inputs: give only one");
    if ((o->example != NOT_GIVEN || o->qkv) && (o->text.bos || o->text.no_bos))
        return cli_usage("--%s goes with a model", o->text.bos ? "bos" : "no-bos");
    if (o->target && o->target_id != NOT_GIVEN)
        return cli_usage("--target and --target-id cannot be combined");
    if (o->text.text && *o->text.text == '\0')
        return cli_usage("--prompt must not be empty");
    return cli_text_check(&o->text);
}

/* ---- all of them */

static const char examples[] = "  $ tg-attn-dump | less\n"
                               "  $ tg-attn-dump -p 'To be' --layer 0 --head 0 --query 4\n"
                               "  $ head -c 16 text | tg-attn-dump --heads 2 --format tsv\n"
                               "  $ tg-attn-dump --probe repeat --summary -f tsv | sort -gk9 | tail\n"
                               "  $ tg-attn-dump --ablate all < text\n"
                               "  $ tg-attn-dump -p 'To be' -o - | tg-attn-view\n"
                               "  $ tg-attn-dump --example baseline\n"
                               "  $ tg-attn-dump --example baseline --trace 0,2,1 --through att";

static int read_words(int argc, char **argv, cli_option *options)
{
    const cli_tool tool = {
        .name = "tg-attn-dump",
        .usage = "[-m MODEL] [-p TEXT] [OPTION]...",
        .summary = "Print every attention score and probability, with the offset of each number in memory.",
        .examples = examples,
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': give the text with -p or on standard input", argv[1]);
    return CLI_OK;
}

/* List the shared options, with the jobs' own before the last one, --threads. */
static void list_options(cli_option *list, const cli_option *shared)
{
    for (; shared[1].name; shared++)
        *list++ = *shared;
    for (size_t j = 0; j < N_JOBS; j++)
        for (size_t n = 0; n < jobs[j]->n_options; n++)
            *list++ = jobs[j]->options[n];
    *list++ = *shared;
    *list = (cli_option){0};
}

int parse_options(int argc, char **argv, attn_options *o, const job **what)
{
    const cli_option shared[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model; '-' is standard input (default: $TG_MODEL, else model.npz)"),
        CLI_ADAPTER_OPTION,
        CLI_TEXT_OPTION('p', "prompt", &o->text.text, "TEXT",
                        "the text to run (default: standard input, text or tokens; else the model's probe)"),
        CLI_TEXT_OPTION(0, "ids", &o->text.ids, "IDS", CLI_IDS_HELP),
        CLI_CHOICE_OPTION(0, "probe", &o->text.probe, TG_PROBES, "a text that shows what heads do"),
        CLI_BOS_OPTIONS(&o->text),
        CLI_CHOICE_OPTION(0, "example", &o->example, EXAMPLES, "a small worked example; needs no model"),
        CLI_INPUT_OPTION(0, "qkv", &o->qkv, "FILE", "arrays q, k and v [B,T,C] from an .npz; needs no model"),
        CLI_SIZE_OPTION('l', "layer", &o->filter.layer, "L", 0, INDEX_MAX, "only this layer, from 0"),
        CLI_SIZE_OPTION('a', "head", &o->filter.head, "H", 0, INDEX_MAX, "only this head, from 0"),
        CLI_SIZE_OPTION('i', "query", &o->filter.query, "I", 0, INDEX_MAX,
                        "only this query position, from 0"),
        CLI_SIZE_OPTION('j', "key", &o->filter.key, "J", 0, INDEX_MAX, "only this key position, from 0"),
        CLI_SIZE_OPTION('H', "heads", &o->heads, "H", 1, INDEX_MAX,
                        "divide the channels into this many heads; must divide their number"),
        CLI_ENUM_OPTION('f', "format", &o->format, TABLE_FORMATS,
                        "aligned columns, tab-separated values, or a JSON object per line"),
        CLI_FLAG_OPTION(0, "no-header", &o->no_header,
                        "print neither the explanations before the numbers nor titles"),
        CLI_ENUM_OPTION(
            's', "stage", &o->stage, TG_ATTN_STAGES,
            "only this stage, instead of scores with probabilities; with -o, instead of all stages"),
        CLI_TEXT_OPTION(
            0, "target", &o->target, "TOKEN",
            "the token to predict next: of whose loss --trace --backward and -o have the gradient"),
        CLI_SIZE_OPTION(0, "target-id", &o->target_id, "ID", 0, INDEX_MAX, "the same, by its id"),
        CLI_ENUM_OPTION(0, "layout", &o->layout, TG_ATTN_LAYOUTS,
                        "the order of q, k, v and att: as in [B,T,C], or a copy with heads first"),
        CLI_ENUM_OPTION(
            0, "mask", &o->mask, TG_ATTN_MASKS,
            "the value of a masked score, which changes no probability; min is the lowest float32"),
        CLI_THREADS(&o->threads, "the results"),
        {0},
    };
    cli_option options[OPTIONS_MAX];
    bool given[OPTIONS_MAX] = {false};

    *o = (attn_options){.text.probe = NOT_GIVEN,
                        .example = NOT_GIVEN,
                        .heads = NOT_GIVEN,
                        .target_id = NOT_GIVEN,
                        .stage = TG_ATTN_EVERY,
                        .filter = TG_ATTN_KEEP_ALL};
    list_options(options, shared);
    for (size_t n = 0; options[n].name; n++)
        options[n].given = &given[n];
    if (read_words(argc, argv, options))
        return CLI_USAGE;
    o->text.has_probe = is_given(options, "probe");
    if (check_sources(o) || find_job(what, o, options) || check_accepted(*what, options) ||
        ((*what)->check && (*what)->check(o)))
        return CLI_USAGE;
    return CLI_OK;
}
