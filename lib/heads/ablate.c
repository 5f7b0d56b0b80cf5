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
}

tg_status tg_ablate_open(tg_ablate *a, const tg_model *model, const tg_ablate_heads *heads, tg_err *err)
{
    const size_t T = model->config.n_ctx;

    *a = (tg_ablate){.model = model,
                     .heads = *heads,
                     .cases = heads->in_turn ? heads->n : 1,
                     .T = T,
                     .capacity = tg_size_max(ROWS / T, 1) * T};
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

/* Zero the slices of att that the case's heads of layer l have written. */
static void silence(tg_ablate *a, size_t number, size_t l)
{
    const tg_config *c = &a->model->config;
    const tg_ablate_heads of = heads_of(a, number);
    const size_t N = a->pass.acts.B * a->pass.acts.T, C = c->n_embd, D = C / c->n_head;
    float *att = a->pass.acts.block[l].att;

    for (size_t n = 0; n < of.n; n++)
        for (size_t bt = 0; of.head[n].layer == l && bt < N; bt++)
            memset(att + bt * C + of.head[n].head * D, 0, D * sizeof *att);
}

/* ---- a batch of windows */

static void add_losses(double *sum, const tg_pass *p)
{
    for (size_t n = 0; n < p->acts.B * p->acts.T; n++)
        *sum += (double)p->losses[n];
}

/* Compute the losses from layer l's x and att, with the case's heads silenced. */
static void run_case(tg_ablate *a, size_t number, size_t l, const int32_t *targets)
{
    tg_pass *p = &a->pass;

    for (size_t m = l; m < a->model->config.n_layer; m++) {
        if (m > l)
            tg_pass_attend(p, m);
        silence(a, number, m);
        tg_pass_finish_block(p, m);
    }
    (void)tg_pass_loss(p, targets);
    add_losses(&a->sum[number], p);
    a->progress.done++;
    if (a->watch)
        a->watch(a->context, &a->progress);
}

static void copy(float *to_x, float *to_att, const float *x, const float *att, size_t n)
{
    memcpy(to_x, x, n * sizeof *x);
    memcpy(to_att, att, n * sizeof *att);
}

/* Run the cases that start in layer l, each from its x and att, which are restored. */
static void branch(tg_ablate *a, size_t l, const int32_t *targets)
{
    const tg_block_acts *s = &a->pass.acts.block[l];
    const size_t n = a->pass.acts.B * a->pass.acts.T * a->model->config.n_embd;
    bool kept = false;

    for (size_t number = 0; number < a->cases; number++) {
        if (first_layer(a, number) != l)
            continue;
        if (!kept)
            copy(a->x, a->att, s->x, s->att, n);
        kept = true;
        run_case(a, number, l, targets);
        copy(s->x, s->att, a->x, a->att, n);
    }
}

static void run_windows(tg_ablate *a, const tg_window_batch *w)
{
    tg_pass *p = &a->pass;

    p->acts.B = w->B;
    p->acts.T = w->T;
    a->progress = (tg_ablate_progress){.tokens = a->tokens, .batch = w->B * w->T, .cases = a->cases};
    tg_pass_begin(p, w->inputs);
    for (size_t l = 0; l < a->model->config.n_layer; l++) {
        tg_pass_attend(p, l);
        branch(a, l, w->targets);
        tg_pass_finish_block(p, l);
    }
    (void)tg_pass_loss(p, w->targets);
    add_losses(&a->base, p);
    a->tokens += w->B * w->T;
}

/* ---- a text */

tg_status tg_ablate_run(tg_ablate *a, tg_stream *stream, tg_ablate_watch watch, void *context, tg_err *err)
{
    tg_window_batch batch;
    tg_status status;

    a->watch = watch;
    a->context = context;
    tg_windows_begin(&a->windows, stream, -1);
    while (!(status = tg_windows_next(&a->windows, &batch, err)) && batch.B > 0)
        run_windows(a, &batch);
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
