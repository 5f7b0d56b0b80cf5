#include "lib/nn/attention.h"

#include <assert.h>
#include <math.h>

#include "lib/base/arena.h"
#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/ops16.h"

/* ---- scratch: the kernel's, and then the gradients of keys and values that several heads have in common */

static void place_scratch(tg_arena *arena, tg_attention_scratch *scratch, size_t work, size_t shared)
{
    scratch->kernel = tg_round_up(work, TG_ALIGN / sizeof(float));
    scratch->threads = tg_threads();
    scratch->each = tg_round_up(tg_size_add_sat(scratch->kernel, shared), TG_ALIGN / sizeof(float));
    scratch->floats = tg_arena_take(arena, tg_size_mul_sat(scratch->threads, scratch->each), sizeof(float));
}

void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D, size_t group)
{
    place_scratch(arena, scratch, tg_attention_head_work(keys, D), group > 1 ? 2 * keys * D : 0);
}

void tg_attention16_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D, size_t group)
{
    place_scratch(arena, scratch, tg_attention_head16_work(keys, D), group > 1 ? 3 * keys * D : 0);
}

/* The calling thread's. */
static float *own(const tg_attention_scratch *scratch)
{
    return scratch->floats + tg_threads_self() * scratch->each;
}

/* ---- what both types have in common */

/* One head of one sequence. */
struct head {
    const tg_attention *a;
    size_t b, g;     /* the sequence; the head of keys and values that it reads */
    size_t in_group; /* its number among those that read them: the first writes their gradients, others add */
    size_t q, k, v;  /* offsets of its first row in q, k and v */
    size_t out;      /* in out */
    size_t lse, prob; /* in lse and in the probabilities [B,H,T,T] */
};

static struct head head_of(const tg_attention *a, size_t bh)
{
    const size_t b = bh / a->H, h = bh % a->H, group = a->H / a->KV, g = h / group;

    return (struct head){
        .a = a,
        .b = b,
        .g = g,
        .in_group = h % group,
        .q = b * a->T * a->ldq + h * a->D,
        .k = b * a->T * a->ldk + g * a->D,
        .v = b * a->T * a->ldv + g * a->D,
        .out = (b * a->T * a->H + h) * a->D,
        .lse = bh * a->T,
        .prob = bh * a->T * a->T,
    };
}

static void keep(float *factors, size_t query, size_t first, size_t n, const void *context)
{
    const struct head *h = context;

    tg_dropout_factors(factors, h->a->drop, h->prob + query * h->a->T + first, n);
}

/* The arrays of an operation, of floats or of bf16, what it does not use being NULL; and what it does for one
 * head. */
struct arrays {
    void (*one)(const struct arrays *x, const struct head *h);
    size_t group; /* heads that one call after the other computes, because they add to the same gradients */
    const void *q, *k, *v;
    void *out;
    float *lse;
    void *dq, *dk, *dv;
    const void *dout, *saved_out;
    const float *saved_lse;
    const tg_attention *a;
};

static void some_heads(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;

    for (size_t bh = begin * x->group; bh < end * x->group; bh++) {
        const struct head h = head_of(x->a, bh);

        x->one(x, &h);
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

/* The kernel's inputs, which have elements of this type; the caller adds the outputs. */
#define INPUTS(element, x, h)                                                                                \
    {                                                                                                        \
        .queries = (h)->a->T, .D = (h)->a->D, .scale = 1.0f / sqrtf((float)(h)->a->D),                       \
        .q = (const element *)(x)->q + (h)->q, .k = (const element *)(x)->k + (h)->k,                        \
        .v = (const element *)(x)->v + (h)->v, .ldq = (h)->a->ldq, .ldk = (h)->a->ldk, .ldv = (h)->a->ldv,   \
        .ldo = (h)->a->H * (h)->a->D, .keep = (h)->a->drop && (h)->a->drop->p > 0 ? keep : NULL,             \
        .context = (h)                                                                                       \
    }

/* ---- float32 */

/* Attend to k and v. */
static void forward_uncached(const struct arrays *x, const struct head *h)
{
    tg_attention_head op = INPUTS(float, x, h);

    op.out = (float *)x->out + h->out;
    op.lse = x->lse + h->lse;
    tg_kernels_get()->attend_forward(&op, own(x->a->scratch));
}

/* Attend to the keys and values in the cache, to which k and v have been appended. */
static void forward_cached(const struct arrays *x, const struct head *h)
{
    const tg_attention *a = x->a;
    const size_t at = tg_kv_cache_at(a->cache, a->first + h->b, a->layer) + h->g * a->D;
    tg_attention_head op = INPUTS(float, x, h);

    op.keep = NULL;
    op.past = a->cache->past;
    op.k = a->cache->k + at;
    op.v = a->cache->v + at;
    op.ldk = op.ldv = a->cache->width;
    op.out = (float *)x->out + h->out;
    tg_kernels_get()->attend_forward(&op, own(a->scratch));
}

void tg_attention_forward(float *out, float *lse, const float *q, const float *k, const float *v,
                          const tg_attention *a)
{
    struct arrays x = {forward_uncached, .group = 1, .q = q, .k = k, .v = v, .out = out, .lse = lse, .a = a};
    size_t keys = a->T;

    if (a->cache) {
        tg_kv_cache_append(a->cache, a->layer, k, a->ldk, v, a->ldv, a->first, a->B, a->T);
        x.one = forward_cached;
        keys += a->cache->past;
    }
    each_head(&x, keys);
}

/* to [T rows of D, ld apart] += from [T,D] */
static void add_rows(float *to, size_t ld, const float *from, size_t T, size_t D)
{
    for (size_t t = 0; t < T; t++)
        for (size_t d = 0; d < D; d++)
            to[t * ld + d] += from[t * D + d];
}

static void backward(const struct arrays *x, const struct head *h)
{
    const tg_attention *a = x->a;
    float *dk = (float *)x->dk + h->k, *dv = (float *)x->dv + h->v;
    float *work = own(a->scratch), *shared = work + a->scratch->kernel;
    const bool adds = h->in_group > 0;
    tg_attention_head op = INPUTS(float, x, h);

    op.saved_out = (const float *)x->saved_out + h->out;
    op.saved_lse = x->saved_lse + h->lse;
    op.dout = (const float *)x->dout + h->out;
    op.dq = (float *)x->dq + h->q;
    op.dk = adds ? shared : dk;
    op.dv = adds ? shared + a->T * a->D : dv;
    op.lddk = adds ? a->D : a->ldk;
    op.lddv = adds ? a->D : a->ldv;
    tg_kernels_get()->attend_backward(&op, work);
    if (adds) {
        add_rows(dk, a->ldk, op.dk, a->T, a->D);
        add_rows(dv, a->ldv, op.dv, a->T, a->D);
    }
}

void tg_attention_backward(const tg_attention_gradient *g, const float *q, const float *k, const float *v,
                           const tg_attention *a)
{
    assert(!a->cache);
    each_head(&(struct arrays){.one = backward,
                               .group = a->H / a->KV,
                               .q = q,
                               .k = k,
                               .v = v,
                               .dq = g->dq,
                               .dk = g->dk,
                               .dv = g->dv,
                               .dout = g->dout,
                               .saved_out = g->out,
                               .saved_lse = g->lse,
                               .a = a},
              a->T);
}

/* ---- bf16, without a cache */

static void forward16(const struct arrays *x, const struct head *h)
{
    tg_attention_head16 op = INPUTS(tg_bf16, x, h);

    op.out = (tg_bf16 *)x->out + h->out;
    op.lse = x->lse + h->lse;
    tg_kernels_get()->attend16_forward(&op, own(x->a->scratch));
}

void tg_attention16_forward(tg_bf16 *out, float *lse, const tg_bf16 *q, const tg_bf16 *k, const tg_bf16 *v,
                            const tg_attention *a)
{
    each_head(&(struct arrays){forward16, .group = 1, .q = q, .k = k, .v = v, .out = out, .lse = lse, .a = a},
              a->T);
}

/* sum [T,D] = or += the gradients of one head; after the last head of the group they are rounded. */
static void gather16(tg_bf16 *to, size_t ld, float *sum, const tg_bf16 *from, const tg_attention *a, size_t n)
{
    for (size_t t = 0; t < a->T; t++)
        for (size_t d = 0; d < a->D; d++) {
            float *s = &sum[t * a->D + d];

            *s = tg_float_from_bf16(from[t * a->D + d]) + (n > 0 ? *s : 0);
            if (n + 1 == a->H / a->KV)
                to[t * ld + d] = tg_bf16_from_float(*s);
        }
}

static void backward16(const struct arrays *x, const struct head *h)
{
    const tg_attention *a = x->a;
    const size_t D = a->D, TD = a->T * D;
    float *work = own(a->scratch), *sums = work + a->scratch->kernel;
    tg_bf16 *dk = (tg_bf16 *)x->dk + h->k, *dv = (tg_bf16 *)x->dv + h->v,
            *one = (tg_bf16 *)(void *)(sums + 2 * TD);
    const bool grouped = a->H > a->KV;
    tg_attention_head16 op = INPUTS(tg_bf16, x, h);

    op.saved_out = (const tg_bf16 *)x->saved_out + h->out;
    op.saved_lse = x->saved_lse + h->lse;
    op.dout = (const tg_bf16 *)x->dout + h->out;
    op.dq = (tg_bf16 *)x->dq + h->q;
    op.dk = grouped ? one : dk;
    op.dv = grouped ? one + TD : dv;
    op.lddk = grouped ? D : a->ldk;
    op.lddv = grouped ? D : a->ldv;
    tg_kernels_get()->attend16_backward(&op, work);
    if (grouped) {
        gather16(dk, a->ldk, sums, op.dk, a, h->in_group);
        gather16(dv, a->ldv, sums + TD, op.dv, a, h->in_group);
    }
}

void tg_attention16_backward(const tg_attention16_gradient *g, const tg_bf16 *q, const tg_bf16 *k,
                             const tg_bf16 *v, const tg_attention *a)
{
    assert(!a->cache);
    each_head(&(struct arrays){.one = backward16,
                               .group = a->H / a->KV,
                               .q = q,
                               .k = k,
                               .v = v,
                               .dq = g->dq,
                               .dk = g->dk,
                               .dv = g->dv,
                               .dout = g->dout,
                               .saved_out = g->out,
                               .saved_lse = g->lse,
                               .a = a},
              a->T);
}
