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

    tg_pass_place(arena, &a->pass, model, a->capacity / a->T, a->T, false);
    a->ids = tg_arena_take(arena, a->capacity + 1, sizeof *a->ids);
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

/* B windows of T, starting at ids; the targets are one token later. */
static void run_windows(tg_ablate *a, const int32_t *ids, size_t B, size_t T)
{
    tg_pass *p = &a->pass;

    p->acts.B = B;
    p->acts.T = T;
    a->progress = (tg_ablate_progress){.tokens = a->tokens, .batch = B * T, .cases = a->cases};
    tg_pass_begin(p, ids);
    for (size_t l = 0; l < a->model->config.n_layer; l++) {
        tg_pass_attend(p, l);
        branch(a, l, ids + 1);
        tg_pass_finish_block(p, l);
    }
    (void)tg_pass_loss(p, ids + 1);
    add_losses(&a->base, p);
    a->tokens += B * T;
}

/* ---- a text */

/* Predict ids[1] ... ids[n] from a->ids [n + 1], 1 <= n <= capacity. */
static void add(tg_ablate *a, size_t n)
{
    const size_t whole = n / a->T, rest = n % a->T;

    if (whole > 0)
        run_windows(a, a->ids, whole, a->T);
    if (rest > 0)
        run_windows(a, a->ids + whole * a->T, 1, rest);
}

tg_status tg_ablate_run(tg_ablate *a, tg_stream *stream, tg_ablate_watch watch, void *context, tg_err *err)
{
    size_t kept = 0, n = 1; /* kept = 1: a->ids[0] is the last token of the previous batch */
    tg_status status;

    a->watch = watch;
    a->context = context;
    while (n > 0) {
        if ((status = tg_stream_next(stream, a->ids + kept, a->capacity + 1 - kept, &n, err)))
            return status;
        if (n == 0 || kept + n < 2)
            continue; /* the end, or a single token, after which the text ends as well */
        add(a, kept + n - 1);
        a->ids[0] = a->ids[kept + n - 1];
        kept = 1;
    }
    if (a->tokens > 0)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s: a loss needs at least two, one to predict the other from",
                   stream->count == 0 ? "no tokens" : "only one token");
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
