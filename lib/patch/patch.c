#include "lib/patch/patch.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/gpt/family.h"

#ifndef PATCH_ROWS
#define PATCH_ROWS 2048 /* tokens of a pass, unless a prompt has more: enough for efficient products */
#endif
#define CACHE_BYTES ((size_t)256 << 20)

/* ---- memory */

static size_t cache_width(const tg_patch *p)
{
    return tg_dim_size(TG_DIM_KV, &p->model->config);
}

static size_t count_sequences(const tg_patch *p)
{
    const size_t each =
        tg_size_mul_sat(p->model->config.n_layer * p->capacity, 2 * cache_width(p) * sizeof(float));

    return tg_size_max(tg_size_min(CACHE_BYTES / each, p->rows), 1);
}

static void place_patch(tg_arena *arena, void *context)
{
    tg_patch *p = context;
    const tg_config *c = &p->model->config;
    const size_t T = p->capacity;

    tg_pass_place(arena, &p->pass, p->model, &(tg_pass_size){.B = p->rows / T, .T = T});
    for (size_t i = 0; i < TG_PATCH_RUNS; i++)
        tg_patch_kept_place(arena, &p->kept[i], &p->pass.acts, T);
    tg_kv_cache_place(arena, &p->cache, p->sequences, c->n_layer, T, cache_width(p));
    p->next = tg_arena_take_rows(arena, p->sequences, c->n_embd, sizeof *p->next);
    p->last = tg_arena_take_rows(arena, p->sequences, c->n_embd, sizeof *p->last);
    p->value = tg_arena_take(arena, p->sequences, sizeof *p->value);
}

tg_status tg_patch_open(tg_patch *p, const tg_model *model, size_t T, tg_err *err)
{
    *p = (tg_patch){.model = model, .capacity = T, .rows = tg_size_max(PATCH_ROWS / T, 1) * T};
    p->sequences = count_sequences(p);
    return tg_arena_build(&p->arena, place_patch, p, err);
}

void tg_patch_close(tg_patch *p)
{
    tg_arena_free(&p->arena);
}

/* ---- the order of cases: those that begin at late positions first, so that a cache filled once serves all;
 * then by the layer and stop where they join, which is L for those that only change the end of the run */

struct slot {
    size_t position, layer;
    tg_patch_stop stop;
    bool begun;    /* it has run its only position to the end of the layer before */
    size_t number; /* of the case */
};

/* A case that first edits after attention joins there, others at a layer's beginning. */
static tg_patch_stop joins_at(tg_patch_site site)
{
    return tg_patch_stop_of(site) < TG_PATCH_AFTER_ATTENTION ? TG_PATCH_AT_BEGINNING
                                                             : TG_PATCH_AFTER_ATTENTION;
}

/* Whether a case edits one position, after attention. */
static bool is_single(const tg_patch_case *c)
{
    return c->n == 1 && c->edit[0].position != TG_PATCH_ALL &&
           joins_at(c->edit[0].site) == TG_PATCH_AFTER_ATTENTION;
}

static struct slot slot_of(const tg_patch *p, const tg_patch_plan *plan, size_t number)
{
    const tg_patch_case *c = &plan->cases[number];
    struct slot s = {plan->base->T - 1, p->pass.acts.L - 1, TG_PATCH_AFTER_ATTENTION, false, number};

    if (is_single(c))
        return (struct slot){c->edit[0].position, c->edit[0].layer + 1, TG_PATCH_AT_BEGINNING, true, number};
    for (size_t i = 0; i < c->n; i++) {
        const tg_patch_edit *e = &c->edit[i];
        const tg_patch_stop stop = joins_at(e->site);

        s.position = e->position == TG_PATCH_ALL ? 0 : tg_size_min(s.position, e->position);
        s.stop = e->layer < s.layer || (e->layer == s.layer && stop < s.stop) ? stop : s.stop;
        s.layer = tg_size_min(s.layer, e->layer);
    }
    return s;
}

static int compare(const void *a, const void *b)
{
    const struct slot *s = a, *t = b;

    if (s->position != t->position)
        return s->position > t->position ? -1 : 1;
    if (s->layer != t->layer)
        return s->layer < t->layer ? -1 : 1;
    if (s->stop != t->stop)
        return s->stop < t->stop ? -1 : 1;
    if (s->begun != t->begun)
        return s->begun ? -1 : 1;
    return s->number < t->number ? -1 : 1;
}

/* ---- a pass */

struct batch {
    tg_patch *p;
    const tg_patch_plan *plan;
    const struct slot *slot; /* [n] all begin at position t */
    size_t n, active;        /* those that have joined are sequences 0 .. active - 1 */
    size_t t, T;             /* tokens t .. t + T - 1 are computed */
};

/* Where a sequence's row of a token is. */
static float *row_at(const struct batch *b, tg_patch_site site, size_t layer, size_t sequence, size_t t)
{
    const tg_acts *a = &b->p->pass.acts;
    const tg_matrix m = tg_acts_row(a, layer, tg_patch_row(a, site));

    return tg_floats(m) + (sequence * b->T + t - b->t) * m.ld;
}

static void copy_base(const struct batch *b, tg_patch_site site, size_t layer, size_t sequence)
{
    const tg_patch_kept *base = b->plan->base;

    for (size_t t = b->t; t < b->t + b->T; t++)
        memcpy(row_at(b, site, layer, sequence, t), tg_patch_kept_at(base, site, layer, t),
               base->cols[site] * sizeof(float));
}

static void join(struct batch *b, size_t layer, tg_patch_stop stop)
{
    for (; b->active < b->n && b->slot[b->active].layer == layer && b->slot[b->active].stop == stop;
         b->active++) {
        copy_base(b, TG_PATCH_X, layer, b->active);
        if (b->slot[b->active].begun)
            memcpy(row_at(b, TG_PATCH_X, layer, b->active, b->t), b->p->next + b->active * b->p->pass.acts.C,
                   b->p->pass.acts.C * sizeof(float));
        if (stop == TG_PATCH_AFTER_ATTENTION)
            copy_base(b, TG_PATCH_Z, layer, b->active);
    }
    b->p->pass.acts.B = b->active;
}

/* The elements of a row that an edit replaces. */
struct part {
    size_t first, n;
};

static struct part part_of(const tg_acts *a, const tg_patch_kept *base, const tg_patch_edit *e)
{
    const size_t cols = base->cols[e->site], heads = tg_patch_heads(a, e->site);
    const bool all = e->head == TG_PATCH_ALL || heads == 0;
    const size_t n = all ? cols : cols / heads;

    return (struct part){all ? 0 : e->head * n, n};
}

static void edit_row(const struct batch *b, const tg_patch_edit *e, size_t sequence, size_t t)
{
    const tg_patch_kept *source = b->plan->source;
    const struct part part = part_of(&b->p->pass.acts, b->plan->base, e);
    float *to = row_at(b, e->site, e->layer, sequence, t) + part.first;

    if (source)
        memcpy(to, tg_patch_kept_at(source, e->site, e->layer, t) + part.first, part.n * sizeof *to);
    else
        memset(to, 0, part.n * sizeof *to);
}

static void make_edits(const struct batch *b, size_t layer, tg_patch_stop stop, size_t sequence)
{
    const tg_patch_case *c = &b->plan->cases[b->slot[sequence].number];

    for (size_t i = 0; i < c->n; i++) {
        const tg_patch_edit *e = &c->edit[i];

        if (e->layer != layer || tg_patch_stop_of(e->site) != stop)
            continue;
        for (size_t t = b->t; t < b->t + b->T; t++)
            if (e->position == TG_PATCH_ALL || e->position == t)
                edit_row(b, e, sequence, t);
    }
}

/* In the last layer only the last token goes on: what follows attention depends on its own x and att. */
static void trim(struct batch *b, size_t layer)
{
    const tg_patch_site sites[] = {TG_PATCH_X, TG_PATCH_Z};
    const size_t before = b->T - 1;

    for (size_t i = 0; i < 2; i++) {
        const tg_patch_site s = sites[i];
        const size_t ld = tg_acts_row(&b->p->pass.acts, layer, tg_patch_row(&b->p->pass.acts, s)).ld;
        float *row = row_at(b, s, layer, 0, b->t);

        for (size_t n = 0; n < b->active; n++)
            memmove(row + n * ld, row + (n * b->T + before) * ld, b->plan->base->cols[s] * sizeof *row);
    }
    b->t += before;
    b->T = b->p->pass.acts.T = 1;
}

static void run_layer(struct batch *b, size_t layer)
{
    tg_pass *pass = &b->p->pass;

    for (tg_patch_stop stop = 0; stop < TG_PATCH_STOPS; stop++) {
        join(b, layer, stop);
        for (size_t i = 0; i < b->active; i++)
            make_edits(b, layer, stop, i);
        if (layer + 1 == pass->acts.L && stop == TG_PATCH_AFTER_ATTENTION)
            trim(b, layer);
        if (b->active > 0)
            (void)tg_pass_layers(pass, tg_patch_place(&pass->acts, layer, stop),
                                 tg_patch_place(&pass->acts, layer, stop + 1), NULL);
    }
}

/* Run the first position of cases first .. first + n - 1, which all join in the layer after this one, from
 * its attention to its end. */
static void begin_in_layer(const struct batch *b, size_t first, size_t n, size_t layer)
{
    tg_acts *a = &b->p->pass.acts;
    struct batch one = {b->p, b->plan, b->slot + first, n, n, b->t, 1};

    a->B = n;
    a->T = 1;
    for (size_t i = 0; i < n; i++) {
        copy_base(&one, TG_PATCH_X, layer, i);
        copy_base(&one, TG_PATCH_Z, layer, i);
    }
    for (tg_patch_stop stop = TG_PATCH_AFTER_ATTENTION; stop < TG_PATCH_STOPS; stop++) {
        for (size_t i = 0; i < n; i++)
            make_edits(&one, layer, stop, i);
        (void)tg_pass_layers(&b->p->pass, tg_patch_place(a, layer, stop), tg_patch_place(a, layer, stop + 1),
                             NULL);
    }
    memcpy(b->p->next + first * a->C, tg_floats(a->x), n * a->C * sizeof(float));
}

static void begin_cases(const struct batch *b)
{
    size_t n;

    for (size_t i = 0; i < b->n; i += n) {
        for (n = 1; i + n < b->n && b->slot[i + n].layer == b->slot[i].layer &&
                    b->slot[i + n].begun == b->slot[i].begun;)
            n++;
        if (b->slot[i].begun)
            begin_in_layer(b, i, n, b->slot[i].layer - 1);
    }
}

/* The cases that join after the last layer have the base run's last row, unless theirs is the one that they
 * edit. */
static void join_at_end(struct batch *b, size_t first_position)
{
    const size_t C = b->p->pass.acts.C;
    const bool edited = first_position + 1 == b->plan->base->T;

    for (; b->active < b->n; b->active++)
        memcpy(tg_floats(b->p->pass.acts.x) + b->active * C,
               edited ? b->p->next + b->active * C : b->plan->base->last, C * sizeof(float));
    b->p->pass.acts.B = b->n;
}

/* The metric of each sequence, from the last token's x. */
static void measure(const struct batch *b, double *values)
{
    tg_patch *p = b->p;

    memcpy(p->last, tg_floats(p->pass.acts.x), b->n * p->pass.acts.C * sizeof *p->last);
    tg_patch_measure_rows(p->value, b->plan->metric, &p->pass, p->last, b->n);
    for (size_t i = 0; i < b->n; i++)
        values[b->slot[i].number] = p->value[i];
}

static void run_batch(struct batch *b, double *values)
{
    tg_patch *p = b->p;

    const size_t first_position = b->t, L = p->pass.acts.L;

    begin_cases(b);
    p->pass.acts.T = b->T;
    p->pass.acts.cache = &p->cache;
    p->cache.past = b->t;
    for (size_t l = tg_size_min(b->slot[0].layer, L - 1); l < L; l++)
        run_layer(b, l);
    join_at_end(b, first_position);
    measure(b, values);
    p->pass.acts.cache = NULL;
}

/* ---- all cases */

/* How many of the sorted cases, from `first` on, share the next pass. */
static size_t count_batch(const tg_patch *p, const struct slot *slot, size_t first, size_t n, size_t T)
{
    const size_t most = tg_size_min(p->rows / (T - slot[first].position), p->sequences);
    size_t count = 1;

    while (first + count < n && count < most && slot[first + count].position == slot[first].position)
        count++;
    return count;
}

/* The base run's keys and values, in the first n sequences of the cache.  A pass from position t on replaces
 * what is after it; the passes that follow begin at t or before. */
static void fill_cache(tg_patch *p, const tg_patch_kept *base, size_t n)
{
    p->cache.past = 0;
    for (size_t s = 0; s < n; s++)
        for (size_t l = 0; l < p->cache.L; l++)
            tg_kv_cache_append(&p->cache, l, tg_patch_kept_at(base, TG_PATCH_K, l, 0), p->cache.width,
                               tg_patch_kept_at(base, TG_PATCH_V, l, 0), p->cache.width, s, 1, base->T);
}

static void run_slots(tg_patch *p, const tg_patch_plan *plan, const struct slot *slot, size_t slots,
                      double *values)
{
    const size_t T = plan->base->T;

    fill_cache(p, plan->base, tg_size_min(p->sequences, slots));
    for (size_t i = 0; i < slots;) {
        const size_t n = count_batch(p, slot, i, slots, T), t = slot[i].position;

        run_batch(&(struct batch){p, plan, slot + i, n, 0, t, T - t}, values);
        i += n;
        (void)tg_watch_report(plan->watch, (double)i / (double)slots);
    }
}

/* ---- cases that change nothing have the base run's metric, to the last bit */

/* Whether a row that an edit replaces has these numbers already; NULL: zeros. */
static bool is_same(const float *x, const float *other, size_t n)
{
    bool same = true;

    for (size_t i = 0; i < n && same; i++)
        same = x[i] == (other ? other[i] : 0);
    return same;
}

static bool edit_changes(const tg_patch *p, const tg_patch_plan *plan, const tg_patch_edit *e)
{
    const tg_patch_site site = e->site == TG_PATCH_PATTERN ? TG_PATCH_Z : e->site;
    const struct part part = part_of(&p->pass.acts, plan->base, e);
    bool same = true;

    for (size_t t = 0; t < plan->base->T && same; t++) {
        const float *x = tg_patch_kept_at(plan->base, site, e->layer, t) + part.first;
        const float *other =
            plan->source ? tg_patch_kept_at(plan->source, e->site, e->layer, t) + part.first : NULL;

        same = (e->position != TG_PATCH_ALL && e->position != t) || is_same(x, other, part.n);
    }
    return !same;
}

static bool case_changes(const tg_patch *p, const tg_patch_plan *plan, const tg_patch_case *c)
{
    bool changes = false;

    for (size_t i = 0; i < c->n && !changes; i++)
        changes = edit_changes(p, plan, &c->edit[i]);
    return changes;
}

tg_status tg_patch_run(tg_patch *p, const tg_patch_plan *plan, double *values, tg_err *err)
{
    const double base = tg_patch_measure(plan->metric, plan->base->logits);
    struct slot *slot = calloc(plan->n + 1, sizeof *slot);
    size_t slots = 0;
    tg_status status = TG_OK;

    if (!slot)
        return tg_fail_memory(err, (plan->n + 1) * sizeof *slot, "the patches");
    for (size_t i = 0; i < plan->n; i++) {
        values[i] = base;
        if (case_changes(p, plan, &plan->cases[i]))
            slot[slots++] = slot_of(p, plan, i);
    }
    qsort(slot, slots, sizeof *slot, compare);
    run_slots(p, plan, slot, slots, values);
    free(slot);
    if ((status = tg_model_check_lent(p->model, err)))
        return status;
    return tg_find_not_finite64(values, plan->n) == plan->n
               ? TG_OK
               : tg_fail(err, TG_EDATA, "the metric is not finite");
}
