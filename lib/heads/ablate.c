#include "lib/heads/ablate.h"

#include <math.h>
#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/size.h"

#define ROWS 1024 /* tokens per batch of windows, unless a window has more: enough for efficient products */

struct placement {
    tg_ablate *a;
    const tg_model *model;
};

static void place(tg_arena *arena, void *context)
{
    const struct placement *p = context;
    const tg_model *model = p->model;
    tg_ablate *a = p->a;
    const size_t C = model->config.n_embd;

    tg_pass_place(arena, &a->pass, model, &(tg_pass_size){.B = a->capacity / a->T, .T = a->T});
    tg_windows_place(arena, &a->windows, a->T, a->T, a->capacity / a->T);
    a->x = tg_arena_take(arena, a->capacity * C, sizeof *a->x);
    a->att = tg_arena_take(arena, a->capacity * C, sizeof *a->att);
    a->sum = tg_arena_take(arena, a->cases, sizeof *a->sum);
    if (a->heads.team->size > 1)
        a->told = tg_arena_take_rows(arena, tg_size_mul_sat(a->heads.team->size, 1 + a->cases), a->capacity,
                                     sizeof *a->told);
}

tg_status tg_ablate_open(tg_ablate *a, const tg_model *model, const tg_ablate_heads *heads, tg_err *err)
{
    const size_t T = model->config.n_ctx;

    *a = (tg_ablate){.model = model,
                     .heads = *heads,
                     .cases = heads->in_turn ? heads->n : 1,
                     .T = T,
                     .capacity = tg_size_max(ROWS / T, 1) * T};
    if (!heads->team)
        a->heads.team = &tg_team_alone;
    return tg_arena_build(&a->arena, place, &(struct placement){a, model}, err);
}

void tg_ablate_close(tg_ablate *a)
{
    tg_arena_free(&a->arena);
}

/* ---- cases */

/* The heads of a case: all of them, or one. */
static tg_ablate_heads heads_of(const tg_ablate *a, size_t number)
{
    tg_ablate_heads of = a->heads;

    if (of.in_turn) {
        of.head += number;
        of.n = 1;
    }
    return of;
}

static size_t first_layer(const tg_ablate *a, size_t number)
{
    const tg_ablate_heads of = heads_of(a, number);
    size_t first = of.head[0].layer;

    for (size_t n = 1; n < of.n; n++)
        first = tg_size_min(first, of.head[n].layer);
    return first;
}

/* A tap: zero the slices of att that the case's heads have written. */
struct silencing {
    const tg_ablate *a;
    size_t number;
};

static bool silence(void *context, tg_acts *acts, size_t layer, tg_step step)
{
    const struct silencing *s = context;
    const tg_config *c = &s->a->model->config;
    const tg_ablate_heads of = heads_of(s->a, s->number);
    const size_t N = acts->B * acts->T, C = c->n_embd, D = C / c->n_head;
    float *att = tg_floats(acts->block[layer][TG_ACT_ATT]);

    for (size_t n = 0; step == TG_STEP_ATT && n < of.n; n++)
        for (size_t bt = 0; of.head[n].layer == layer && bt < N; bt++)
            memset(att + bt * C + of.head[n].head * D, 0, D * sizeof *att);
    return true;
}

/* ---- a batch of windows */

/* Where a member of a team tells the losses of a case, or (number = cases) of the model as it is. */
static float *told_by(const tg_ablate *a, size_t member, size_t number)
{
    return a->told + (member * (1 + a->cases) + number) * a->capacity;
}

static void add_losses(double *sum, const float *losses, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *sum += (double)losses[i];
}

/* The losses of a case, or of the model as it is, are computed.  In a team they are told, and added up
 * later. */
static void take_losses(tg_ablate *a, size_t number)
{
    const size_t n = a->pass.acts.B * a->pass.acts.T;

    if (a->told)
        memcpy(told_by(a, a->heads.team->rank, number), a->pass.losses, n * sizeof *a->told);
    else
        add_losses(number < a->cases ? &a->sum[number] : &a->base, a->pass.losses, n);
}

/* Compute the losses from layer l's x and att, with the case's heads silenced. */
static void run_case(tg_ablate *a, size_t number, size_t l, const int32_t *targets)
{
    tg_pass *p = &a->pass;
    const tg_tap tap = {silence, &(struct silencing){a, number}};

    (void)silence(tap.context, &p->acts, l, TG_STEP_ATT);
    (void)tg_pass_layers(p, tg_place(l, TG_STEP_X2), tg_layers_end(&p->acts), &tap);
    (void)tg_pass_loss(p, targets);
    take_losses(a, number);
    a->progress.done++;
    if (a->watch)
        a->watch(a->context, &a->progress);
}

static void copy(float *to_x, float *to_att, const float *x, const float *att, size_t n)
{
    memcpy(to_x, x, n * sizeof *x);
    memcpy(to_att, att, n * sizeof *att);
}

/* A tap: run the cases that start in this layer, each from its x and att, which are restored. */
struct branching {
    tg_ablate *a;
    const int32_t *targets;
};

static bool branch(void *context, tg_acts *acts, size_t layer, tg_step step)
{
    const struct branching *b = context;
    tg_ablate *a = b->a;
    float *x = tg_floats(acts->block[layer][TG_ACT_X]), *att = tg_floats(acts->block[layer][TG_ACT_ATT]);
    const size_t n = acts->B * acts->T * acts->C;
    bool kept = false;

    for (size_t number = 0; step == TG_STEP_ATT && number < a->cases; number++) {
        if (first_layer(a, number) != layer)
            continue;
        if (!kept)
            copy(a->x, a->att, x, att, n);
        kept = true;
        run_case(a, number, layer, b->targets);
        copy(x, att, a->x, a->att, n);
    }
    return true;
}

static void run_windows(tg_ablate *a, const tg_window_batch *w)
{
    tg_pass *p = &a->pass;

    p->acts.B = w->B;
    p->acts.T = w->T;
    a->progress = (tg_ablate_progress){.tokens = a->tokens, .batch = w->B * w->T, .cases = a->cases};
    tg_pass_begin(p, w->inputs);
    (void)tg_pass_layers(p, 0, tg_layers_end(&p->acts),
                         &(tg_tap){branch, &(struct branching){a, w->targets}});
    (void)tg_pass_loss(p, w->targets);
    take_losses(a, a->cases);
}

/* ---- a text */

static tg_status run_alone(tg_ablate *a, tg_err *err)
{
    tg_window_batch batch;
    tg_status status;

    while (!(status = tg_windows_next(&a->windows, &batch, err)) && batch.B > 0) {
        run_windows(a, &batch);
        a->tokens += batch.B * batch.T;
    }
    return status;
}

/* A round of a team: a batch for each member, `n` tokens of each.  Every member reads them all. */
static tg_status run_round(tg_ablate *a, size_t *n, tg_err *err)
{
    const tg_team *team = a->heads.team;
    tg_window_batch batch = {.B = 1};
    tg_status status;

    for (size_t member = 0; member < team->size; member++) {
        n[member] = 0;
        if (batch.B == 0)
            continue;
        if ((status = tg_windows_next(&a->windows, &batch, err)))
            return status;
        n[member] = batch.B * batch.T;
        if (member == team->rank && batch.B > 0)
            run_windows(a, &batch);
    }
    return TG_OK;
}

static tg_status run_in_team(tg_ablate *a, tg_err *err)
{
    const tg_team *team = a->heads.team;
    size_t n[TG_TEAM_MAX];
    tg_status status;

    do {
        status = run_round(a, n, err);
        if (tg_team_agree(team, (int)status) != TG_OK)
            return status ? status : tg_fail(err, TG_EIO, "another process failed");
        tg_team_share_even(team, a->told, (1 + a->cases) * a->capacity * sizeof *a->told);
        for (size_t member = 0; member < team->size; member++) {
            for (size_t number = 0; number < a->cases; number++)
                add_losses(&a->sum[number], told_by(a, member, number), n[member]);
            add_losses(&a->base, told_by(a, member, a->cases), n[member]);
            a->tokens += n[member];
        }
    } while (n[team->size - 1] > 0);
    return TG_OK;
}

tg_status tg_ablate_run(tg_ablate *a, tg_stream *stream, tg_ablate_watch watch, void *context, tg_err *err)
{
    tg_status status;

    a->watch = watch;
    a->context = context;
    tg_windows_begin(&a->windows, stream, -1);
    status = a->told ? run_in_team(a, err) : run_alone(a, err);
    return status ? status : tg_windows_check_any(&a->windows, err);
}

double tg_ablate_baseline(const tg_ablate *a)
{
    return a->base / (double)a->tokens;
}

double tg_ablate_loss(const tg_ablate *a, size_t number)
{
    return a->sum[number] / (double)a->tokens;
}

tg_status tg_ablate_check_finite(const tg_ablate *a, tg_err *err)
{
    const bool finite = isfinite(a->base) && tg_find_not_finite64(a->sum, a->cases) == a->cases;

    return finite ? TG_OK : tg_fail(err, TG_EDATA, "the loss is not finite");
}
