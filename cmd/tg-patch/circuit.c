/* --ablate: the metric without some heads and MLPs, or with a circuit alone. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-patch/job.h"

/*
 * Components are numbered l*(H + 1) + h; h = H is layer l's MLP.  A case is the set of those that are as in
 * the clean run; the others are ablated.  The first two cases are the model, with all of them, and none.
 */
struct circuit {
    patch_job *job;
    size_t L, H, all; /* all = L*(H + 1) */
    bool *named;      /* [all] by --without or --keep */
    size_t n;         /* cases: the model, none, the circuit of --keep or the model without --without's */
    char (*name)[PATCH_NAME_SIZE]; /* [n] */
    bool *kept;                    /* [n,all] */
    tg_patch_edit *edit;           /* [n,all] */
    tg_patch_case *cases;          /* [n] */
    double *sum, *values;          /* [n] of all pairs; of one */
};

enum { MODEL, NONE, WHOLE, FIRST_MEMBER };

/* ---- lists: L.H and L.mlp, separated by commas; for the latter, head is TG_PATCH_ALL, SIZE_MAX */

static tg_status mark(struct circuit *c, const char *list, tg_err *err)
{
    const char *at = list;
    size_t layer, head;

    do {
        if (!cli_take_head(&at, &layer, &head, "mlp"))
            return tg_fail(err, TG_EUSAGE, "expected LAYER.HEAD or LAYER.mlp, separated by commas, got '%s'",
                           list);
        if (layer >= c->L)
            return tg_fail(err, TG_EUSAGE, "layer %zu is out of range: expected 0 to %zu", layer, c->L - 1);
        if (head != TG_PATCH_ALL && head >= c->H)
            return tg_fail(err, TG_EUSAGE, "head %zu is out of range: expected 0 to %zu", head, c->H - 1);
        c->named[layer * (c->H + 1) + (head == TG_PATCH_ALL ? c->H : head)] = true;
    } while (*at != '\0');
    return TG_OK;
}

/* ---- cases */

static size_t count_named(const struct circuit *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->all; i++)
        n += c->named[i];
    return n;
}

static void set_name(const struct circuit *c, size_t number, size_t component)
{
    const size_t l = component / (c->H + 1), h = component % (c->H + 1);

    if (h < c->H)
        snprintf(c->name[number], PATCH_NAME_SIZE, "without:%zu.%zu", l, h);
    else
        snprintf(c->name[number], PATCH_NAME_SIZE, "without:%zu.mlp", l);
}

/* What a case keeps: of --keep the circuit, and it without each member; else the model, and it without the
 * named components, or without each. */
static void set_kept(struct circuit *c)
{
    const patch_options *o = c->job->o;
    size_t number = o->without ? c->n : FIRST_MEMBER - !o->keep;

    strcpy(c->name[MODEL], "model");
    strcpy(c->name[NONE], "none");
    if (o->keep || o->without)
        strcpy(c->name[WHOLE], o->keep ? "circuit" : "without");
    for (size_t i = 0; i < c->all; i++) {
        const bool whole = o->keep ? c->named[i] : !c->named[i];

        c->kept[MODEL * c->all + i] = true;
        for (size_t k = WHOLE; k < c->n; k++)
            c->kept[k * c->all + i] = whole;
    }
    for (size_t i = 0; i < c->all && number < c->n; i++)
        if (o->keep ? c->named[i] : true) {
            set_name(c, number, i);
            c->kept[number++ * c->all + i] = false;
        }
}

static void set_edits(struct circuit *c)
{
    for (size_t k = 0; k < c->n; k++) {
        tg_patch_edit *edit = c->edit + k * c->all;
        size_t n = 0;

        for (size_t i = 0; i < c->all; i++) {
            const size_t l = i / (c->H + 1), h = i % (c->H + 1);

            if (!c->kept[k * c->all + i])
                edit[n++] = (tg_patch_edit){h < c->H ? TG_PATCH_Z : TG_PATCH_MLP, l,
                                            h < c->H ? h : TG_PATCH_ALL, TG_PATCH_ALL};
        }
        c->cases[k] = (tg_patch_case){edit, n};
    }
}

static tg_status make(struct circuit *c, tg_err *err)
{
    const patch_options *o = c->job->o;
    const char *list = o->keep ? o->keep : o->without;
    tg_status status;

    if (!(c->named = calloc(c->all, sizeof *c->named)))
        return tg_fail_memory(err, c->all, "the components");
    if (list && (status = mark(c, list, err)))
        return status;
    c->n = o->keep ? FIRST_MEMBER + count_named(c) : o->without ? FIRST_MEMBER : WHOLE + c->all;
    c->name = calloc(c->n, sizeof *c->name);
    c->kept = calloc(c->n * c->all, sizeof *c->kept);
    c->edit = calloc(c->n * c->all, sizeof *c->edit);
    c->cases = calloc(c->n, sizeof *c->cases);
    c->sum = calloc(c->n, sizeof *c->sum);
    c->values = calloc(c->n, sizeof *c->values);
    if (!c->name || !c->kept || !c->edit || !c->cases || !c->sum || !c->values)
        return tg_fail_memory(err, c->n * c->all * (1 + sizeof *c->edit), "the cases");
    set_kept(c);
    set_edits(c);
    return TG_OK;
}

static void drop(struct circuit *c)
{
    free(c->named);
    free(c->name);
    free(c->kept);
    free(c->edit);
    free(c->cases);
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
        tg_patch_add_to_mean(&p->kept[TG_PATCH_MEAN], &p->kept[TG_PATCH_CORRUPT], i, c->L);
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
    const tg_patch_plan plan = {c->cases, c->n, &p->kept[TG_PATCH_CLEAN], sources[c->job->o->ablation],
                                &metric,  watch};

    if (tg_patch_run(p, &plan, c->values, err))
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
    return (c->sum[k] - c->sum[NONE]) / (c->sum[MODEL] - c->sum[NONE]) + 0.0; /* no -0 */
}

/* A member is compared with its circuit, all else with the model. */
static double change(const struct circuit *c, size_t k)
{
    const bool member = c->job->o->keep && k >= FIRST_MEMBER;

    return faithfulness(c, k) - (member ? faithfulness(c, WHOLE) : 1);
}

static void print(const struct circuit *c)
{
    const patch_options *o = c->job->o;
    table t = lines;

    t.format = o->format;
    cli_progress_end();
    if (t.format == TABLE_TEXT && !o->no_header)
        printf("# metric    of the last prediction, with the named components ablated\n"
               "# faithful  (metric - none) / (model - none), where none has all of them ablated\n"
               "# change    faithful less that of the %s\n",
               o->keep ? "model; of a member of the circuit, less the circuit's" : "model");
    if (!o->no_header)
        table_print_titles(&t);
    for (size_t k = 0; k < c->n; k++) {
        char name[PATCH_NAME_SIZE];
        const table_cell cells[] = {{.text = name},
                                    {.real = c->sum[k] / (double)c->job->pairs},
                                    {.real = faithfulness(c, k)},
                                    {.real = change(c, k)}};

        snprintf(name, sizeof name, "%*s", t.format == TABLE_TEXT ? 14 : 0, c->name[k]);
        table_print_line(&t, cells);
    }
}

static tg_status run(struct circuit *c, tg_err *err)
{
    const patch_job *job = c->job;
    tg_status status;

    if ((status = make(c, err)) || (job->o->ablation == PATCH_MEAN && (status = find_means(c, err))))
        return status;
    for (size_t i = 0; i < job->pairs; i++)
        if ((status = add_pair(c, &job->pair[i], cli_job_begin(&c->job->progress, "ablating"), err)))
            return status;
    if (!(c->sum[MODEL] < c->sum[NONE] || c->sum[MODEL] > c->sum[NONE]))
        return tg_fail(err, TG_EDATA,
                       "the metric is the same with all heads and MLPs ablated: it has no scale");
    print(c);
    return TG_OK;
}

tg_status patch_circuit(patch_job *job, tg_err *err)
{
    const tg_acts *a = &job->patch.pass.acts;
    const size_t H = tg_patch_heads(a, TG_PATCH_Z);
    struct circuit c = {.job = job, .L = a->L, .H = H, .all = a->L * (H + 1)};
    const tg_status status = run(&c, err);

    drop(&c);
    return status;
}
