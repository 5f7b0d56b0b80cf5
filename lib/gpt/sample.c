#include "lib/gpt/sample.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/object.h"
#include "lib/base/rng.h"
#include "lib/base/size.h"

/* ---- choosing a token */

/* Whether token a comes before token b: a total order, so that the choice does not
 * depend on how the heap is built. */
static bool before(const float *logits, int32_t a, int32_t b)
{
    return logits[a] > logits[b] || (logits[a] == logits[b] && a < b);
}

static size_t greatest(const float *logits, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++) {
        if (logits[i] > logits[best])
            best = i;
    }
    return best;
}

/* What is at the root of a heap of tokens. */
typedef enum root { FIRST, LAST } root;

static bool above(root of, const float *logits, int32_t a, int32_t b)
{
    return of == FIRST ? before(logits, a, b) : before(logits, b, a);
}

static void sift_down(int32_t *heap, size_t n, size_t at, const float *logits, root of)
{
    int32_t id = heap[at];
    size_t child;

    while ((child = 2 * at + 1) < n) {
        if (child + 1 < n && above(of, logits, heap[child + 1], heap[child]))
            child++;
        if (!above(of, logits, heap[child], id))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = id;
}

/* The ids below n as a heap. */
static void heap_build(int32_t *heap, size_t n, const float *logits, root of)
{
    for (size_t i = 0; i < n; i++)
        heap[i] = (int32_t)i;
    for (size_t i = n / 2; i-- > 0;)
        sift_down(heap, n, i, logits, of);
}

/* Move the root of the heap's n tokens to heap[n-1]; the rest remain a heap. */
static void heap_pop(int32_t *heap, size_t n, const float *logits, root of)
{
    int32_t top = heap[0];

    heap[0] = heap[n - 1];
    heap[n - 1] = top;
    sift_down(heap, n - 1, 0, logits, of);
}

void tg_top_ids(int32_t *ids, size_t k, const float *logits, size_t n)
{
    heap_build(ids, k, logits, LAST);
    for (size_t id = k; id < n; id++) {
        if (logits[id] > logits[ids[0]]) {
            ids[0] = (int32_t)id;
            sift_down(ids, k, 0, logits, LAST);
        }
    }
    for (size_t i = k; i > 1; i--)
        heap_pop(ids, i, logits, LAST);
}

typedef struct softmax {
    const float *logits;
    double max, temperature;
} softmax;

/* The probability of a token, before the division by the sum. */
static double weight(const softmax *p, size_t id)
{
    return exp(((double)p->logits[id] - p->max) / p->temperature);
}

/* The token in order[0..n) at which the running sum of weights exceeds u * total; u in
 * [0,1), total is the sum of all. */
static int32_t draw(const softmax *p, const int32_t *order, size_t n, double total, double u)
{
    int32_t last = order[n - 1];
    double sum = 0.0, w;

    for (size_t i = 0; i < n && sum <= u * total; i++) {
        w = weight(p, (size_t)order[i]);
        sum += w;
        if (w > 0.0) /* also the result when rounding keeps the sum below u * total */
            last = order[i];
    }
    return last;
}

/*
 * Gather the candidates at order[n-1], order[n-2], ... (the greatest first), and
 * return how many; *total is the sum of their weights.
 */
static size_t candidates(int32_t *order, size_t n, const softmax *p, const tg_sampling *sampling,
                         double *total)
{
    size_t max = sampling->top_k && sampling->top_k < n ? sampling->top_k : n, kept = 0;
    double all = 0.0;

    heap_build(order, n, p->logits, FIRST);
    if (max < n) { /* top_p is a fraction of what top_k leaves */
        for (size_t k = 0; k < max; k++) {
            heap_pop(order, n - k, p->logits, FIRST);
            all += weight(p, (size_t)order[n - 1 - k]);
        }
    } else {
        for (size_t i = 0; i < n; i++)
            all += weight(p, i);
    }
    for (*total = 0.0; kept < max && (kept == 0 || *total < sampling->top_p * all); kept++) {
        if (max == n)
            heap_pop(order, n - kept, p->logits, FIRST);
        *total += weight(p, (size_t)order[n - 1 - kept]);
    }
    return kept;
}

static int32_t draw_from(const float *logits, int32_t *order, size_t n, double u, const tg_sampling *sampling)
{
    softmax p = {logits, (double)logits[greatest(logits, n)], sampling->temperature};
    size_t kept = n;
    double total = 0.0;

    if (sampling->top_p < 1.0 || (sampling->top_k && sampling->top_k < n)) {
        kept = candidates(order, n, &p, sampling, &total);
    } else {
        for (size_t i = 0; i < n; i++) {
            order[i] = (int32_t)i;
            total += weight(&p, i);
        }
    }
    return draw(&p, order + n - kept, kept, total, u);
}

tg_status tg_sample(int32_t *id, const float *logits, int32_t *order, size_t n, uint64_t step,
                    size_t sequence, const tg_sampling *sampling, tg_err *err)
{
    tg_rng rng = {sampling->seed, TG_RNG_SAMPLE, step};
    tg_status status = tg_check_finite("logits", logits, n, err);

    assert(n >= 1 && n <= INT32_MAX);
    if (status)
        return status;
    if (sampling->greedy || sampling->temperature <= 0.0)
        *id = (int32_t)greatest(logits, n);
    else
        *id = draw_from(logits, order, n, tg_rng_uniform(&rng, sequence), sampling);
    return TG_OK;
}

/* ---- generation */

/* For a single text in float32 the model's own weights are nearly as fast, and take no time or
 * memory to pack. */
bool tg_generator_packs(tg_weight_type type, size_t S)
{
    return type != TG_WEIGHT_FLOAT32 || S > 1;
}

struct placement {
    tg_generator *g;
    const tg_model *model;
    size_t S, tokens;
};

static void place_generator(tg_arena *arena, void *context)
{
    const struct placement *p = context;
    const size_t S = p->S, n_ctx = p->model->config.n_ctx, V = p->model->config.vocab_size;
    const size_t keys = tg_size_min(n_ctx, p->tokens);
    tg_generator *g = p->g;

    tg_infer_place(arena, &g->infer, p->model, tg_size_max(keys, S), S, keys);
    g->S = S;
    g->window = tg_arena_take_rows(arena, S, n_ctx, sizeof *g->window);
    g->logits = tg_arena_take_rows(arena, S, V, sizeof *g->logits);
    g->order = tg_arena_take(arena, V, sizeof *g->order);
    g->ids = tg_arena_take(arena, S, sizeof *g->ids);
    g->choices = tg_size_min(V, tg_tokenizer_vocab_size(p->model->tokenizer));
}

tg_status tg_generator_open(tg_generator *g, const tg_model *model, tg_weight_type type, size_t S,
                            size_t tokens, tg_err *err)
{
    const bool packed = model->lender || tg_generator_packs(type, S);
    tg_status status;

    *g = (tg_generator){0};
    if (packed && (status = tg_packed_model_create(&g->packed, model, type, err)))
        return status;
    if ((status =
             tg_arena_build(&g->arena, place_generator, &(struct placement){g, model, S, tokens}, err))) {
        tg_packed_model_free(&g->packed);
        return status;
    }
    g->infer.packed = packed ? &g->packed : NULL;
    return TG_OK;
}

void tg_generator_close(tg_generator *g)
{
    tg_arena_free(&g->arena);
    tg_packed_model_free(&g->packed);
}

static size_t half_context(const tg_generator *g)
{
    return tg_size_max(1, g->infer.model->config.n_ctx / 2);
}

static int32_t *window(tg_generator *g, size_t s)
{
    return g->window + s * g->infer.model->config.n_ctx;
}

static float *logits(tg_generator *g, size_t s)
{
    return g->logits + s * g->infer.model->config.vocab_size;
}

size_t tg_generator_begin(tg_generator *g, const int32_t *ids, size_t n)
{
    size_t seen = n <= g->infer.model->config.n_ctx ? n : half_context(g);

    assert(n >= 1);
    g->step = n;
    tg_infer_reset(&g->infer);
    tg_infer_select(&g->infer, 0, 1);
    tg_infer_run(&g->infer, ids + n - seen, seen, g->logits);
    tg_kv_cache_broadcast(&g->infer.cache);
    for (size_t s = 0; s < g->S; s++) {
        memcpy(window(g, s), ids + n - seen, seen * sizeof *ids);
        if (s > 0)
            memcpy(logits(g, s), g->logits, g->infer.model->config.vocab_size * sizeof *g->logits);
    }
    return seen;
}

void tg_generator_append(tg_generator *g, const int32_t *ids, size_t n)
{
    assert(g->S == 1 && n >= 1 && g->infer.cache.past + n <= g->infer.rows_max);
    memcpy(window(g, 0) + g->infer.cache.past, ids, n * sizeof *ids);
    tg_infer_run(&g->infer, ids, n, g->logits);
    g->step += n;
}

/* The context is full: drop its older half, and append one token. */
static void shift(tg_generator *g)
{
    const size_t n = g->infer.cache.past, keep = half_context(g) - 1;

    for (size_t s = 0; s < g->S; s++) {
        int32_t *w = window(g, s);

        memmove(w, w + n - keep, keep * sizeof *w);
        w[keep] = g->ids[s];
        tg_infer_reset(&g->infer);
        tg_infer_select(&g->infer, s, 1);
        tg_infer_run(&g->infer, w, keep + 1, logits(g, s));
    }
}

void tg_generator_extend(tg_generator *g)
{
    if (g->infer.cache.past == g->infer.model->config.n_ctx) {
        shift(g);
        return;
    }
    for (size_t s = 0; s < g->S; s++)
        window(g, s)[g->infer.cache.past] = g->ids[s];
    tg_infer_select(&g->infer, 0, g->S);
    tg_infer_run(&g->infer, g->ids, 1, g->logits);
}

tg_status tg_generator_choose(tg_generator *g, const tg_sampling *sampling, tg_err *err)
{
    tg_status status;
    char where[64];

    for (size_t s = 0; s < g->S; s++) {
        status = tg_sample(&g->ids[s], logits(g, s), g->order, g->choices, g->step, s, sampling, err);
        if (status) {
            snprintf(where, sizeof where, "position %llu", (unsigned long long)g->step);
            (void)tg_err_in(err, where);
            snprintf(where, sizeof where, "text %zu of %zu", s + 1, g->S);
            return g->S > 1 ? tg_err_in(err, where) : status;
        }
    }
    g->step++;
    return TG_OK;
}

tg_status tg_generator_next(tg_generator *g, bool more, const tg_sampling *sampling, tg_err *err)
{
    const tg_status status = tg_generator_choose(g, sampling, err);

    if (!status && more)
        tg_generator_extend(g);
    return status;
}

/* ---- for programs (lib/tg/infer.h) */

tg_status tg_generator_new(tg_generator **g, const tg_model *model, tg_weight_type type, size_t S,
                           size_t tokens, tg_err *err)
{
    *g = tg_object_new(sizeof **g, "a generator", err);
    return *g ? tg_object_begun(g, tg_generator_open(*g, model, type, S, tokens, err)) : TG_ENOMEM;
}

void tg_generator_destroy(tg_generator *g)
{
    if (g)
        tg_generator_close(g);
    free(g);
}

const int32_t *tg_generator_ids(const tg_generator *g)
{
    return g->ids;
}

const float *tg_generator_logits(const tg_generator *g)
{
    return g->logits;
}
