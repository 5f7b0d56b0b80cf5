/* --ablate: the metric without some heads and MLPs, or with a circuit alone. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/token_text.h"
#include "cmd/tg-patch/circuit_parts.h"
#include "lib/base/size.h"

#define CIRCUIT_NAME_SIZE (TG_PATCH_EDGE_SIZE + 16) /* "without:" and a name */

/*
 * A case is the set of parts that are as in the clean run; the others are ablated.  The first two cases are
 * the model, with all of them, and none.
 */
struct circuit {
    patch_job *job;
    node_parts nodes; /* `parts` is of one of these */
    edge_parts edges;
    circuit_parts *parts;
    bool *named;                     /* [all] by --without or --keep */
    size_t n;                        /* cases: the model, none, the circuit of --keep or the model without
                                      * --without's; and those that lack one part */
    char (*name)[CIRCUIT_NAME_SIZE]; /* [n] */
    size_t *part;                    /* [n] the part that a case lacks; SIZE_MAX: it is another case */
    bool *kept;                      /* [n,all] */
    double *sum, *values;            /* [n] of all pairs; of one */
};

enum { MODEL, NONE, WHOLE, FIRST_MEMBER };

/* ---- cases */

static size_t count_named(const struct circuit *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->parts->all; i++)
        n += c->named[i];
    return n;
}

static void set_name(const struct circuit *c, size_t number, size_t part)
{
    char name[TG_PATCH_EDGE_SIZE];

    c->parts->name(c->parts, name, part);
    snprintf(c->name[number], CIRCUIT_NAME_SIZE, "without:%s", name);
    c->part[number] = part;
}

/* What a case keeps: of --keep the circuit, and it without each member; else the model, and it without the
 * named parts, or without each. */
static void set_kept(struct circuit *c)
{
    const patch_options *o = c->job->o;
    const size_t all = c->parts->all;
    size_t number = o->without ? c->n : FIRST_MEMBER - !o->keep;

    memset(c->part, -1, c->n * sizeof *c->part);
    strcpy(c->name[MODEL], "model");
    strcpy(c->name[NONE], "none");
    if (o->keep || o->without)
        strcpy(c->name[WHOLE], o->keep ? "circuit" : "without");
    for (size_t i = 0; i < all; i++) {
        const bool whole = o->keep ? c->named[i] : !c->named[i];

        c->kept[MODEL * all + i] = true;
        for (size_t k = WHOLE; k < c->n; k++)
            c->kept[k * all + i] = whole;
    }
    for (size_t i = 0; i < all && number < c->n; i++)
        if (o->keep ? c->named[i] : true) {
            set_name(c, number, i);
            c->kept[number++ * all + i] = false;
        }
}

static tg_status make(struct circuit *c, tg_err *err)
{
    const patch_options *o = c->job->o;
    const char *list = o->keep ? o->keep : o->without;
    const size_t all = c->parts->all;

    if (!(c->named = calloc(all, sizeof *c->named)))
        return tg_fail_memory(err, all, "the parts of the model");
    if (list && c->parts->mark(c->parts, c->named, list, err))
        return tg_err_in(err, o->keep ? "--keep" : "--without");
    c->n = o->keep ? FIRST_MEMBER + count_named(c) : o->without ? FIRST_MEMBER : WHOLE + all;
    c->name = calloc(c->n, sizeof *c->name);
    c->part = calloc(c->n, sizeof *c->part);
    c->kept = calloc(c->n * all, sizeof *c->kept);
    c->sum = calloc(c->n, sizeof *c->sum);
    c->values = calloc(c->n, sizeof *c->values);
    if (!c->name || !c->part || !c->kept || !c->sum || !c->values)
        return tg_fail_memory(err, c->n * (all + sizeof *c->name), "the cases");
    set_kept(c);
    return c->parts->open(c->parts, c->n, err);
}

static void drop(struct circuit *c)
{
    c->parts->drop(c->parts);
    free(c->named);
    free(c->name);
    free(c->part);
    free(c->kept);
    free(c->sum);
    free(c->values);
}

/* ---- pairs */

static tg_status find_means(struct circuit *c, tg_err *err)
{
    tg_patch *p = &c->job->patch;

    if (!c->job->same_length)
        return tg_fail(err, TG_EDATA, "%s: --ablate mean needs prompts of as many tokens in all pairs",
                       cli_input_name(c->job->o->pairs));
    if (c->job->pairs == 1)
        return tg_fail(err, TG_EDATA, "%s: --ablate mean needs two pairs or more",
                       cli_input_name(c->job->o->pairs));
    for (size_t i = 0; i < c->job->pairs; i++) {
        (void)patch_keep_pair(c->job, &c->job->pair[i]);
        tg_patch_add_to_mean(&p->kept[TG_PATCH_MEAN], &p->kept[TG_PATCH_CORRUPT], i, p->pass.acts.L);
    }
    return TG_OK;
}

static tg_status add_pair(struct circuit *c, const patch_pair *pair, const tg_watch *watch, tg_err *err)
{
    tg_patch *p = &c->job->patch;
    const tg_patch_kept *sources[] = {[PATCH_ZERO] = NULL,
                                      [PATCH_MEAN] = &p->kept[TG_PATCH_MEAN],
                                      [PATCH_RESAMPLE] = &p->kept[TG_PATCH_CORRUPT]};
    const tg_patch_metric metric = patch_keep_pair(c->job, pair);
    const circuit_run run = {&p->kept[TG_PATCH_CLEAN], sources[c->job->o->ablation], &metric, watch};

    if (c->parts->run(c->parts, &run, c->kept, c->n, c->values, err))
        return err->code;
    for (size_t k = 0; k < c->n; k++)
        c->sum[k] += c->values[k];
    return TG_OK;
}

/* ---- output */

static const table lines = {.n = 4,
                            .column = {{"case", "case", TABLE_STRING, 14, 0, 0},
                                       {"metric", "metric", TABLE_DOUBLE, 11, 0, 6},
                                       {"faithfulness", "faithful", TABLE_DOUBLE, 10, 0, 5},
                                       {"change", "change", TABLE_DOUBLE, 10, 0, 5}}};

static double faithfulness(const struct circuit *c, size_t k)
{
    return (c->sum[k] - c->sum[NONE]) / (c->sum[MODEL] - c->sum[NONE]);
}

/* A member is compared with its circuit, all else with the model. */
static double change(const struct circuit *c, size_t k)
{
    const bool member = c->job->o->keep && k >= FIRST_MEMBER;

    return faithfulness(c, k) - (member ? faithfulness(c, WHOLE) : 1);
}

static size_t longest_name(const struct circuit *c)
{
    size_t n = 14;

    for (size_t k = 0; k < c->n; k++)
        n = tg_size_max(n, strlen(c->name[k]));
    return n;
}

static void print(const struct circuit *c)
{
    const patch_options *o = c->job->o;
    table t = lines;

    t.format = o->format;
    t.column[0].width = o->format == TABLE_TEXT ? longest_name(c) : 0;
    cli_progress_end();
    if (t.format == TABLE_TEXT && !o->no_header)
        printf("# metric    of the last prediction, with the named parts ablated\n"
               "# faithful  (metric - none) / (model - none), where none has all of them ablated\n"
               "# change    faithful minus that of the %s\n",
               o->keep ? "model; of a member of the circuit, minus the circuit's" : "model");
    if (!o->no_header)
        table_print_titles(&t);
    for (size_t k = 0; k < c->n; k++) {
        char name[CIRCUIT_NAME_SIZE];
        const table_cell cells[] = {{.text = name},
                                    {.real = c->sum[k] / (double)c->job->pairs},
                                    {.real = patch_fraction(o, faithfulness(c, k))},
                                    {.real = patch_fraction(o, change(c, k))}};

        snprintf(name, sizeof name, "%*s", (int)t.column[0].width, c->name[k]);
        table_print_line(&t, cells);
    }
}

/* ---- an archive */

/* What is written of each part [all]. */
struct maps {
    int64_t *named, *part;
    double *value, *faithfulness, *change;
};

static void fill_maps(const struct maps *m, const struct circuit *c)
{
    const patch_options *o = c->job->o;

    for (size_t i = 0; i < c->parts->all; i++)
        m->named[i] = c->named[i];
    for (size_t k = 0; k < c->n; k++) {
        const size_t i = c->part[k];

        if (i == SIZE_MAX)
            continue;
        m->part[i] = 1;
        m->value[i] = c->sum[k] / (double)c->job->pairs;
        m->faithfulness[i] = patch_fraction(o, faithfulness(c, k));
        m->change[i] = patch_fraction(o, change(c, k));
    }
}

static tg_status write_maps(int fd, const struct maps *m, const struct circuit *c, tg_err *err)
{
    const patch_job *job = c->job;
    const patch_options *o = job->o;
    const patch_pair *pair = &job->pair[0];
    const double pairs = (double)job->pairs;
    const size_t P = c->nodes.g.H + 1;
    const tg_ablation_grid grid = {.settings = {.metric = o->metric,
                                                .pairs = job->pairs,
                                                .answer = pair->answer,
                                                .wrong = pair->wrong,
                                                .tok = job->m.model.tokenizer,
                                                .text_of = cli_token_text_of},
                                   .by = o->ablation,
                                   .set = o->keep      ? TG_ABLATION_KEEP
                                          : o->without ? TG_ABLATION_WITHOUT
                                                       : TG_ABLATION_EACH,
                                   .model = c->sum[MODEL] / pairs,
                                   .none = c->sum[NONE] / pairs,
                                   .whole = c->sum[WHOLE] / pairs, /* of all but TG_ABLATION_EACH */
                                   .L = c->parts->all / P,
                                   .P = P,
                                   .named = m->named,
                                   .part = m->part,
                                   .value = m->value,
                                   .faithfulness = m->faithfulness,
                                   .change = m->change,
                                   .clean_ids = job->same_length ? pair->clean.ids : NULL,
                                   .corrupt_ids = o->ablation == PATCH_ZERO ? NULL : pair->corrupt.ids,
                                   .T = pair->clean.n};

    return tg_ablation_write(fd, &grid, err);
}

static tg_status put_archive(void *context, int fd, tg_err *err)
{
    const struct circuit *c = context;
    const size_t n = c->parts->all;
    struct maps m = {calloc(n, sizeof *m.named), calloc(n, sizeof *m.part), calloc(n, sizeof *m.value),
                     calloc(n, sizeof *m.faithfulness), calloc(n, sizeof *m.change)};
    tg_status status;

    if (m.named && m.part && m.value && m.faithfulness && m.change) {
        fill_maps(&m, c);
        status = write_maps(fd, &m, c, err);
    } else {
        status = tg_fail_memory(err, n * 5 * sizeof *m.value, "the maps");
    }
    free(m.named);
    free(m.part);
    free(m.value);
    free(m.faithfulness);
    free(m.change);
    return status;
}

/* ---- all of it */

static tg_status run(struct circuit *c, tg_err *err)
{
    const patch_job *job = c->job;
    tg_status status;

    if ((status = patch_check_output(job, err)) || (status = make(c, err)) ||
        (job->o->ablation == PATCH_MEAN && (status = find_means(c, err))))
        return status;
    for (size_t i = 0; i < job->pairs; i++)
        if ((status = add_pair(c, &job->pair[i], cli_job_begin(&c->job->progress, "ablating"), err)))
            return status;
    if (!(c->sum[MODEL] < c->sum[NONE] || c->sum[MODEL] > c->sum[NONE]))
        return tg_fail(err, TG_EDATA, "the metric is the same with everything ablated: it has no scale");
    if (job->o->output)
        return cli_archive_write(job->o->output, CLI_OUT_PATCH, put_archive, c, err);
    print(c);
    return TG_OK;
}

tg_status patch_circuit(patch_job *job, tg_err *err)
{
    const char *list = job->o->keep ? job->o->keep : job->o->without;
    const bool of_edges = list && strchr(list, ':');
    struct circuit c = {.job = job};
    tg_status status;

    circuit_nodes(&c.nodes, job);
    circuit_edges(&c.edges, job);
    c.parts = of_edges ? &c.edges.parts : &c.nodes.parts;
    status = run(&c, err);
    drop(&c);
    return status;
}
