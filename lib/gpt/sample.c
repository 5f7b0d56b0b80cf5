#include "lib/gpt/sample.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static void sift_down(int32_t *heap, size_t n, size_t at, const float *logits)
{
    int32_t id = heap[at];
    size_t child;

    while ((child = 2 * at + 1) < n) {
        if (child + 1 < n && before(logits, heap[child + 1], heap[child]))
            child++;
        if (!before(logits, heap[child], id))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = id;
}

/* The token numbers as a heap, the greatest logit first. */
static void heap_build(int32_t *heap, size_t n, const float *logits)
{
    for (size_t i = 0; i < n; i++)
        heap[i] = (int32_t)i;
    for (size_t i = n / 2; i-- > 0;)
        sift_down(heap, n, i, logits);
}

/* Move the greatest of the heap's n tokens behind its end, to heap[n-1]. */
static void heap_pop(int32_t *heap, size_t n, const float *logits)
{
    int32_t top = heap[0];

    heap[0] = heap[n - 1];
    heap[n - 1] = top;
    sift_down(heap, n - 1, 0, logits);
}

typedef struct softmax {
    const float *logits;
    double max, temperature;
} softmax;

/* Not divided by the sum. */
static double weight(const softmax *p, size_t id)
{
    return exp(((double)p->logits[id] - p->max) / p->temperature);
}

/* Of order[0..n), whose weights add up to `total`, the one where the running sum
 * passes u * total; u in [0,1). */
static int32_t draw(const softmax *p, const int32_t *order, size_t n, double total, double u)
{
    int32_t last = order[n - 1];
    double sum = 0.0, w;

    for (size_t i = 0; i < n && sum <= u * total; i++) {
        w = weight(p, (size_t)order[i]);
        sum += w;
        if (w > 0.0) /* also what is left when rounding keeps the sum below */
            last = order[i];
    }
    return last;
}

/*
 * Gather the candidates at order[n-1], order[n-2], ... (the greatest first), and
 * return how many; *total is the sum of their weights.
 */
static size_t candidates(int32_t *order, size_t n, const softmax *p, const tg_sampling *how, double *total)
{
    size_t most = how->top_k && how->top_k < n ? how->top_k : n, kept = 0;
    double all = 0.0;

    heap_build(order, n, p->logits);
    if (most < n) { /* top_p is a share of what top_k leaves */
        for (size_t k = 0; k < most; k++) {
            heap_pop(order, n - k, p->logits);
            all += weight(p, (size_t)order[n - 1 - k]);
        }
    } else {
        for (size_t i = 0; i < n; i++)
            all += weight(p, i);
    }
    for (*total = 0.0; kept < most && (kept == 0 || *total < how->top_p * all); kept++) {
        if (most == n)
            heap_pop(order, n - kept, p->logits);
        *total += weight(p, (size_t)order[n - 1 - kept]);
    }
    return kept;
}

static int32_t draw_from(const float *logits, int32_t *order, size_t n, double u, const tg_sampling *how)
{
    softmax p = {logits, (double)logits[greatest(logits, n)], how->temperature};
    size_t kept = n;
    double total = 0.0;

    if (how->top_p < 1.0 || (how->top_k && how->top_k < n)) {
        kept = candidates(order, n, &p, how, &total);
    } else {
        for (size_t i = 0; i < n; i++) {
            order[i] = (int32_t)i;
            total += weight(&p, i);
        }
    }
    return draw(&p, order + n - kept, kept, total, u);
}

static tg_status check_logits(const float *logits, size_t n, tg_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(logits[i]))
            return tg_fail(err, TG_EDATA, "the logit of token %zu is %g", i,
                           isnan(logits[i]) ? fabs((double)logits[i]) : (double)logits[i]);
    }
    return TG_OK;
}

tg_status tg_sample(int32_t *id, const float *logits, int32_t *order, size_t n, uint64_t step,
                    size_t sequence, const tg_sampling *how, tg_err *err)
{
    tg_rng rng = {how->seed, TG_RNG_SAMPLE, step};
    tg_status status = check_logits(logits, n, err);

    assert(n >= 1 && n <= INT32_MAX);
    if (status)
        return status;
    if (how->greedy || how->temperature <= 0.0)
        *id = (int32_t)greatest(logits, n);
    else
        *id = draw_from(logits, order, n, tg_rng_uniform(&rng, sequence), how);
    return TG_OK;
}

/* ---- texts under way */

void tg_generator_place(tg_arena *arena, tg_generator *g, const tg_model *model, const tg_packed_model *packed,
                        size_t S, size_t tokens)
{
    const size_t n_ctx = model->config.n_ctx, V = model->config.vocab_size, keys = tg_size_min(n_ctx, tokens);

    tg_infer_place(arena, &g->infer, model, tg_size_max(keys, S), S, keys);
    g->infer.packed = packed;
    g->S = S;
    g->window = tg_arena_take_rows(arena, S, n_ctx, sizeof *g->window);
    g->logits = tg_arena_take_rows(arena, S, V, sizeof *g->logits);
    g->order = tg_arena_take(arena, V, sizeof *g->order);
    g->choices = tg_size_min(V, model->tokenizer.vocab_size);
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
    tg_infer_broadcast_cache(&g->infer);
    for (size_t s = 0; s < g->S; s++) {
        memcpy(window(g, s), ids + n - seen, seen * sizeof *ids);
        if (s > 0)
            memcpy(logits(g, s), g->logits, g->infer.model->config.vocab_size * sizeof *g->logits);
    }
    return seen;
}

/* The context is full: its older half makes room for one more token. */
static void shift(tg_generator *g, const int32_t *ids)
{
    const size_t n = g->infer.cache.past, keep = half_context(g) - 1;

    for (size_t s = 0; s < g->S; s++) {
        int32_t *w = window(g, s);

        memmove(w, w + n - keep, keep * sizeof *w);
        w[keep] = ids[s];
        tg_infer_reset(&g->infer);
        tg_infer_select(&g->infer, s, 1);
        tg_infer_run(&g->infer, w, keep + 1, logits(g, s));
    }
}

/* One more token for each. */
static void append(tg_generator *g, const int32_t *ids)
{
    if (g->infer.cache.past == g->infer.model->config.n_ctx) {
        shift(g, ids);
        return;
    }
    for (size_t s = 0; s < g->S; s++)
        window(g, s)[g->infer.cache.past] = ids[s];
    tg_infer_select(&g->infer, 0, g->S);
    tg_infer_run(&g->infer, ids, 1, g->logits);
}

tg_status tg_generator_next(tg_generator *g, int32_t *ids, bool more, const tg_sampling *how, tg_err *err)
{
    tg_status status;
    char where[64];

    for (size_t s = 0; s < g->S; s++) {
        status = tg_sample(&ids[s], logits(g, s), g->order, g->choices, g->step, s, how, err);
        if (status) {
            snprintf(where, sizeof where, "position %llu", (unsigned long long)g->step);
            (void)tg_err_in(err, where);
            snprintf(where, sizeof where, "text %zu of %zu", s + 1, g->S);
            return g->S > 1 ? tg_err_in(err, where) : status;
        }
    }
    if (more)
        append(g, ids);
    g->step++;
    return TG_OK;
}
