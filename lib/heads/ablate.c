#include "lib/heads/ablate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/object.h"
#include "lib/base/size.h"
#include "lib/gpt/family.h"

#define ROWS 1024 /* tokens per batch of windows, unless a window has more: enough for efficient products */

/* What the members of a team send each other of a batch of windows. */
struct losses {
    size_t tokens;
    float loss[]; /* [1 + cases][capacity] of each case; the last are those of the model as it is */
};

static void place_ablation(tg_arena *arena, void *context)
{
    tg_ablate *a = context;
    const tg_config *c = &a->model->config;
    const size_t C = c->n_embd, Q = tg_dim_size(TG_DIM_Q, c);

    tg_pass_place(arena, &a->pass, a->model, &(tg_pass_size){.B = a->capacity / a->T, .T = a->T});
    tg_tokens_windows_place(arena, &a->windows, a->T, a->T, a->capacity / a->T);
    a->x = tg_arena_take(arena, a->capacity * C, sizeof *a->x);
    a->att = tg_arena_take(arena, a->capacity * Q, sizeof *a->att);
    a->sum = tg_arena_take(arena, a->cases, sizeof *a->sum);
    tg_tokens_window_map_place(
        arena, &a->map, a->heads.team,
        tg_size_add_sat(sizeof(struct losses), tg_size_mul_sat(1 + a->cases, a->capacity * sizeof(float))));
}

tg_status tg_ablate_open(tg_ablate *a, const tg_model *model, const tg_ablate_heads *heads, tg_err *err)
{
    const size_t T = tg_size_min(model->config.n_ctx, TG_TOKENS_WINDOW);

    *a = (tg_ablate){.model = model,
                     .heads = *heads,
                     .cases = heads->in_turn ? heads->n : 1,
                     .T = T,
                     .prefix = -1,
                     .capacity = tg_size_max(ROWS / T, 1) * T};
    return tg_arena_build(&a->arena, place_ablation, a, err);
}

void tg_ablate_close(tg_ablate *a)
{
    tg_arena_free(&a->arena);
}

/* ---- cases */

/* Whether a case silences head n of the list: it silences all of them, or one. */
static bool silences(const tg_ablate *a, size_t number, size_t n)
{
    return !a->heads.in_turn || n == number;
}

static size_t first_layer(const tg_ablate *a, size_t number)
{
    size_t first = SIZE_MAX;

    for (size_t n = 0; n < a->heads.n; n++)
        if (silences(a, number, n))
            first = tg_size_min(first, a->heads.head[n].layer);
    return first;
}

void tg_ablate_silence(tg_acts *acts, size_t layer, const tg_ablate_head *heads, size_t n)
{
    const size_t D = tg_config_head_dim(&acts->bound.model->config);
    const tg_matrix att = tg_acts_row(acts, layer, acts->family->att);

    for (size_t i = 0; i < n; i++)
        for (size_t bt = 0; heads[i].layer == layer && bt < acts->B * acts->T; bt++)
            memset(tg_floats(att) + bt * att.ld + heads[i].head * D, 0, D * sizeof(float));
}

/* A tap: silence the case's heads. */
struct silencing {
    const tg_ablate *a;
    size_t number;
};

static bool silence(void *context, tg_acts *acts, size_t layer, size_t row)
{
    const struct silencing *s = context;
    const tg_ablate_heads *heads = &s->a->heads;

    if (row == acts->family->att)
        tg_ablate_silence(acts, layer, heads->in_turn ? heads->head + s->number : heads->head,
                          heads->in_turn ? 1 : heads->n);
    return true;
}

/* ---- a batch of windows */

struct batch_run {
    tg_ablate *a;
    const int32_t *targets;
    struct losses *out;
};

/* The losses of a case, or (number = cases) of the model as it is, from the last activations. */
static void compute_losses(const struct batch_run *r, size_t number)
{
    tg_pass *p = &r->a->pass;

    (void)tg_pass_loss(p, r->targets);
    memcpy(r->out->loss + number * r->a->capacity, p->losses, r->out->tokens * sizeof *p->losses);
}

/* Compute the losses from layer l's x and att, with the case's heads silenced. */
static void run_case(const struct batch_run *r, size_t number, size_t l)
{
    tg_ablate *a = r->a;
    tg_pass *p = &a->pass;
    const tg_tap tap = {silence, &(struct silencing){a, number}};
    const size_t att = p->acts.family->att;

    (void)silence(tap.context, &p->acts, l, att);
    (void)tg_pass_layers(p, tg_place(&p->acts, l, att) + 1, tg_layers_end(&p->acts), &tap);
    compute_losses(r, number);
    a->progress.done++;
    if (a->watch)
        a->watch(a->context, &a->progress);
}

/* A tap: run the cases that start in this layer, each from its x and att, which are restored. */
static bool branch(void *context, tg_acts *acts, size_t layer, size_t row)
{
    const struct batch_run *r = context;
    tg_ablate *a = r->a;
    const tg_matrix x = tg_acts_row(acts, layer, TG_ACT_X), att = tg_acts_row(acts, layer, acts->family->att);
    const size_t N = acts->B * acts->T;
    bool kept = false;

    for (size_t number = 0; row == acts->family->att && number < a->cases; number++) {
        if (first_layer(a, number) != layer)
            continue;
        if (!kept) {
            memcpy(a->x, x.data, N * x.cols * sizeof(float));
            memcpy(a->att, att.data, N * att.cols * sizeof(float));
        }
        kept = true;
        run_case(r, number, layer);
        memcpy(x.data, a->x, N * x.cols * sizeof(float));
        memcpy(att.data, a->att, N * att.cols * sizeof(float));
    }
    return true;
}

static tg_status compute(void *context, const tg_tokens_window_batch *w, void *results, tg_err *err)
{
    struct batch_run r = {context, w->targets, results};
    tg_ablate *a = r.a;
    tg_pass *p = &a->pass;

    (void)err;
    r.out->tokens = w->B * w->T;
    p->acts.B = w->B;
    p->acts.T = w->T;
    a->progress = (tg_ablate_progress){.tokens = a->tokens, .batch = r.out->tokens, .cases = a->cases};
    tg_pass_begin(p, w->inputs);
    (void)tg_pass_layers(p, 0, tg_layers_end(&p->acts), &(tg_tap){branch, &r});
    compute_losses(&r, a->cases);
    return TG_OK;
}

static void add_losses(double *sum, const float *loss, size_t n)
{
    for (size_t i = 0; i < n; i++)
        *sum += (double)loss[i];
}

static tg_status add(void *context, const void *results, tg_err *err)
{
    tg_ablate *a = context;
    const struct losses *l = results;

    (void)err;
    for (size_t number = 0; number < a->cases; number++)
        add_losses(&a->sum[number], l->loss + number * a->capacity, l->tokens);
    add_losses(&a->base, l->loss + a->cases * a->capacity, l->tokens);
    a->tokens += l->tokens;
    return TG_OK;
}

/* ---- a text */

tg_status tg_ablate_run(tg_ablate *a, tg_tokens_stream *stream, tg_ablate_watch watch, void *context,
                        tg_err *err)
{
    tg_status status;

    a->watch = watch;
    a->context = context;
    tg_tokens_windows_begin(&a->windows, stream, a->prefix);
    status = tg_tokens_window_map_run(&a->map, &a->windows, &(tg_tokens_window_work){compute, add, a}, err);
    return status ? status : tg_tokens_windows_check_any(&a->windows, err);
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
    const tg_status status = tg_model_check_lent(a->model, err);
    const bool finite = isfinite(a->base) && tg_find_not_finite64(a->sum, a->cases) == a->cases;

    if (status)
        return status;
    return finite ? TG_OK : tg_fail(err, TG_EDATA, "the loss is not finite");
}

/* ---- for programs (lib/tg/ablate.h) */

tg_status tg_ablate_new(tg_ablate **a, const tg_model *model, const tg_ablate_heads *heads, tg_err *err)
{
    const tg_config *c = &model->config;

    *a = NULL;
    if (heads->n < 1)
        return tg_fail(err, TG_EUSAGE, "no heads to silence");
    for (size_t i = 0; i < heads->n; i++)
        if (heads->head[i].layer >= c->n_layer || heads->head[i].head >= c->n_head)
            return tg_fail(err, TG_EUSAGE, "head %zu.%zu: the model has %zu layers of %zu heads",
                           heads->head[i].layer, heads->head[i].head, c->n_layer, c->n_head);
    *a = tg_object_new(sizeof **a, "an ablation", err);
    return *a ? tg_object_begun(a, tg_ablate_open(*a, model, heads, err)) : TG_ENOMEM;
}

void tg_ablate_destroy(tg_ablate *a)
{
    if (a)
        tg_ablate_close(a);
    free(a);
}
