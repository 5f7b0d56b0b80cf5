#include "lib/nn/attention.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/ref/ref.h"

/* ---- scratch: the kernel's, and then the gradients of keys and values that several heads have in common */

void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, tg_type type, size_t keys, size_t D,
                        size_t group)
{
    size_t work = 0, shared = 0;

    switch (type) {
    case TG_TYPE_FLOAT:
        work = tg_attention_head_work(keys, D);
        shared = 2 * keys * D;
        break;
    case TG_TYPE_BF16:
        work = tg_attention_head16_work(keys, D);
        shared = 3 * keys * D;
        break;
    case TG_TYPE_DOUBLE: /* a row of scores, of probabilities, and of the gradients of both */
        work = tg_size_mul_sat(4 * sizeof(double) / sizeof(float), keys);
        break;
    }
    scratch->kernel = tg_round_up(work, TG_ALIGN / sizeof(float));
    scratch->threads = tg_threads();
    scratch->each =
        tg_round_up(tg_size_add_sat(scratch->kernel, group > 1 ? shared : 0), TG_ALIGN / sizeof(float));
    scratch->floats = tg_arena_take(arena, tg_size_mul_sat(scratch->threads, scratch->each), sizeof(float));
}

/* The calling thread's. */
static float *own(const tg_attention_scratch *scratch)
{
    return scratch->floats + tg_threads_self() * scratch->each;
}

/* ---- the heads of an operation */

/* One head of one sequence, or of one of the documents in it. */
struct head {
    const tg_attention *a;
    size_t first, T; /* the document's first token, and their number: all of the sequence's */
    size_t each;     /* bytes of an element */
    size_t b, h, g;  /* the sequence; the head; that of keys and values, which it reads */
    size_t in_group; /* its number among those that read them: the first writes their gradients, others add */
    size_t number;   /* among all sequences' heads */
};

/* The matrices of an operation; what it does not use is empty.  And what it does for one head. */
struct arrays {
    void (*one)(const struct arrays *x, const struct head *h);
    const tg_attention *a;
    size_t group; /* heads that one call after the other computes, because they add to the same gradients */
    tg_qkv in, d;
    tg_matrix out, dout;
    float *lse;
};

/* The tokens of the document that begins at a token of a sequence. */
static size_t document_length(const tg_attention *a, size_t sequence, size_t first)
{
    size_t end = a->positions ? first + 1 : a->T;

    while (end < a->T && a->positions[sequence * a->T + end] != 0)
        end++;
    return end - first;
}

static void some_heads(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;
    const size_t each = tg_type_size(x->out.type), group = a->H / a->KV;

    for (size_t n = begin * x->group; n < end * x->group; n += x->group)
        for (size_t first = 0, T; first < a->T; first += T) {
            T = document_length(a, n / a->H, first);
            for (size_t bh = n; bh < n + x->group; bh++) {
                const size_t h = bh % a->H;

                x->one(x, &(struct head){a, first, T, each, bh / a->H, h, h / group, h % group, bh});
            }
        }
}

/* Each head, by several threads if every query has so many keys. */
static void each_head(struct arrays *x, size_t keys)
{
    const tg_attention *a = x->a;
    const size_t n = a->B * a->H / x->group;
    const bool large = a->B * a->T * keys * a->H * a->D > 65536;

    tg_threads_run_on(a->scratch->threads, n, large ? 1 : n, some_heads, x);
}

/* The rows of head number `n` of m, in the document of h. */
static tg_matrix part(tg_matrix m, const struct head *h, size_t n)
{
    const size_t at = (h->b * h->a->T + h->first) * m.ld + n * h->a->D;

    return (tg_matrix){(char *)m.data + at * h->each, m.type, h->a->D, m.ld};
}

static tg_qkv parts(const tg_qkv *m, const struct head *h)
{
    return (tg_qkv){part(m->q, h, h->h), part(m->k, h, h->g), part(m->v, h, h->g)};
}

static bool drops(const tg_attention *a)
{
    return a->drop && a->drop->p > 0;
}

/* ---- float32 and bf16, by kernels */

static void keep(float *factors, size_t query, size_t first, size_t n, const void *context)
{
    const struct head *h = context;
    const size_t T = h->a->T;

    tg_dropout_factors(factors, h->a->drop, (h->number * T + h->first + query) * T + h->first + first, n);
}

/* The window, or 0 where all keys are within it: kernels without one are faster. */
static size_t window_of(const tg_attention *a)
{
    const size_t keys = a->T + (a->cache ? a->cache->past : 0);

    return a->rule.window < keys ? a->rule.window : 0;
}

/* The kernel's inputs; the caller adds the outputs. */
static tg_attention_head inputs(const struct arrays *x, const struct head *h)
{
    const tg_attention *a = x->a;
    const tg_qkv in = parts(&x->in, h);

    return (tg_attention_head){
        .queries = h->T,
        .D = a->D,
        .scale = a->rule.scale > 0 ? (float)a->rule.scale : 1.0f / sqrtf((float)a->D),
        .cap = (float)a->rule.cap,
        .window = window_of(a),
        .q = in.q.data,
        .k = in.k.data,
        .v = in.v.data,
        .ldq = in.q.ld,
        .ldk = in.k.ld,
        .ldv = in.v.ld,
        .ldo = x->out.ld,
        .keep = drops(a) ? keep : NULL,
        .context = h,
    };
}

/* Attend to the keys and values in the cache, to which the new ones have been appended. */
static void attend_to_cache(tg_attention_head *op, const struct head *h)
{
    const tg_kv_cache *cache = h->a->cache;
    const size_t at = tg_kv_cache_at(cache, h->a->first + h->b, h->a->layer) + h->g * h->a->D;

    op->keep = NULL;
    op->past = cache->past;
    op->k = cache->k + at;
    op->v = cache->v + at;
    op->ldk = op->ldv = cache->width;
}

static void forward(const struct arrays *x, const struct head *h)
{
    const tg_kernels *kernels = tg_kernels_get();
    tg_attention_head op = inputs(x, h);

    op.out = part(x->out, h, h->h).data;
    if (h->a->cache)
        attend_to_cache(&op, h);
    else
        op.lse = x->lse + h->number * h->a->T + h->first;
    (x->out.type == TG_TYPE_BF16 ? kernels->attend16_forward : kernels->attend_forward)(&op,
                                                                                        own(h->a->scratch));
}

/* to += one, T rows */
static void add_rows(tg_matrix to, tg_matrix one, size_t T)
{
    const float *from = tg_floats(one);
    float *sum = tg_floats(to);

    for (size_t t = 0; t < T; t++)
        for (size_t d = 0; d < to.cols; d++)
            sum[t * to.ld + d] += from[t * one.ld + d];
}

/* sum [T,D] = or += the gradients of one head; after the last head of the group they are rounded. */
static void add_rows16(tg_matrix to, float *sum, tg_matrix one, const struct head *h)
{
    const bool last = h->in_group + 1 == h->a->H / h->a->KV;
    const tg_bf16 *from = tg_halves(one);
    tg_bf16 *rounded = tg_halves(to);

    for (size_t t = 0; t < h->T; t++)
        for (size_t d = 0; d < to.cols; d++) {
            float *s = &sum[t * to.cols + d];

            *s = tg_float_from_bf16(from[t * one.ld + d]) + (h->in_group > 0 ? *s : 0);
            if (last)
                rounded[t * to.ld + d] = tg_bf16_from_float(*s);
        }
}

/* Heads that read the same keys add their gradients: in float32 the first writes what the others add to; in
 * bf16 the sums are float32. */
static void backward(const struct arrays *x, const struct head *h)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t T = h->T, TD = T * h->a->D;
    const bool half = x->out.type == TG_TYPE_BF16, apart = half ? x->group > 1 : h->in_group > 0;
    const tg_qkv d = parts(&x->d, h);
    float *work = own(h->a->scratch), *shared = work + h->a->scratch->kernel;
    tg_matrix dk = d.k, dv = d.v;
    tg_attention_head op = inputs(x, h);

    if (apart) {
        dk = tg_matrix_of(half ? shared + 2 * TD : shared, d.k.type, d.k.cols);
        dv = tg_matrix_from(dk, T);
    }
    op.saved_out = part(x->out, h, h->h).data;
    op.saved_lse = x->lse + h->number * h->a->T + h->first;
    op.dout = part(x->dout, h, h->h).data;
    op.dq = d.q.data;
    op.dk = dk.data;
    op.dv = dv.data;
    op.lddk = dk.ld;
    op.lddv = dv.ld;
    (half ? kernels->attend16_backward : kernels->attend_backward)(&op, work);
    if (apart && half) {
        add_rows16(d.k, shared, dk, h);
        add_rows16(d.v, shared + TD, dv, h);
    } else if (apart) {
        add_rows(d.k, dk, T);
        add_rows(d.v, dv, T);
    }
}

/* ---- double, by the references: the probabilities are not kept, backward computes them again */

static void forward64(const struct arrays *x, const struct head *h)
{
    const size_t T = h->T, D = h->a->D;
    const tg_qkv in = parts(&x->in, h);
    const tg_matrix out = part(x->out, h, h->h);
    double *scores = (void *)own(h->a->scratch), *probs = scores + T;

    for (size_t i = 0; i < T; i++) {
        tg_attention_scores_row_ref64(scores, tg_doubles(in.q) + i * in.q.ld, tg_doubles(in.k), in.k.ld, T, D,
                                      i);
        tg_attention_rule_row_ref64(scores, &h->a->rule, D, i);
        tg_softmax_row_ref64(probs, scores, i + 1);
        tg_attention_values_row_ref64(tg_doubles(out) + i * out.ld, probs, NULL, tg_doubles(in.v), in.v.ld, D,
                                      i);
    }
}

static void zero_rows(tg_matrix m, size_t T)
{
    for (size_t t = 0; t < T; t++)
        tg_zero_rows(tg_matrix_from(m, t), 1);
}

static void backward64(const struct arrays *x, const struct head *h)
{
    const size_t T = h->T, D = h->a->D;
    const tg_qkv in = parts(&x->in, h), d = parts(&x->d, h);
    const tg_matrix dout = part(x->dout, h, h->h);
    double *scores = (void *)own(h->a->scratch), *probs = scores + T, *dprobs = probs + T,
           *dscores = dprobs + T;

    zero_rows(d.q, T);
    if (h->in_group == 0) {
        zero_rows(d.k, T);
        zero_rows(d.v, T);
    }
    for (size_t i = 0; i < T; i++) {
        const double *q = tg_doubles(in.q) + i * in.q.ld;

        tg_attention_scores_row_ref64(scores, q, tg_doubles(in.k), in.k.ld, T, D, i);
        tg_attention_rule_row_ref64(scores, &h->a->rule, D, i);
        tg_softmax_row_ref64(probs, scores, i + 1);
        tg_attention_values_row_backward_ref64(dprobs, tg_doubles(d.v), tg_doubles(dout) + i * dout.ld, probs,
                                               NULL, tg_doubles(in.v), in.v.ld, T, D, i);
        memset(dscores, 0, T * sizeof *dscores);
        tg_softmax_row_backward_ref64(dscores, dprobs, probs, i + 1);
        tg_attention_rule_row_backward_ref64(dscores, scores, &h->a->rule, D, i);
        tg_attention_scores_row_backward_ref64(tg_doubles(d.q) + i * d.q.ld, tg_doubles(d.k), dscores, q,
                                               tg_doubles(in.k), in.k.ld, D, i);
    }
}

/* ---- all heads */

void tg_attention_forward(tg_matrix out, tg_matrix lse, const tg_qkv *inp, const tg_attention *a)
{
    const bool is_double = out.type == TG_TYPE_DOUBLE;
    struct arrays x = {
        is_double ? forward64 : forward, a, .group = 1, .in = *inp, .out = out, .lse = lse.data};
    size_t keys = a->T;

    assert(!is_double || (!a->cache && !drops(a)));
    assert(!a->positions || !a->cache);
    if (a->cache) {
        tg_kv_cache_append(a->cache, a->layer, tg_floats(inp->k), inp->k.ld, tg_floats(inp->v), inp->v.ld,
                           a->first, a->B, a->T);
        keys += a->cache->past;
    }
    each_head(&x, keys);
}

void tg_attention_backward(const tg_qkv *dinp, tg_matrix dout, tg_matrix out, tg_matrix lse,
                           const tg_qkv *inp, const tg_attention *a)
{
    const bool is_double = dout.type == TG_TYPE_DOUBLE;
    struct arrays x = {.one = is_double ? backward64 : backward,
                       .a = a,
                       .group = a->H / a->KV,
                       .in = *inp,
                       .d = *dinp,
                       .out = out,
                       .dout = dout,
                       .lse = lse.data};

    assert(!a->cache && !(is_double && drops(a)));
    each_head(&x, a->T);
}
