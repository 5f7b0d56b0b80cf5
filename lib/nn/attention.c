#include "lib/nn/attention.h"

#include <math.h>

#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/ops16.h"

static void place(tg_arena *arena, tg_attention_scratch *scratch, size_t work)
{
    scratch->threads = tg_threads();
    scratch->each = tg_round_up(work, TG_ALIGN / sizeof(float));
    scratch->floats = tg_arena_take(arena, scratch->threads * scratch->each, sizeof(float));
}

void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D)
{
    place(arena, scratch, tg_attend_work(keys, D));
}

void tg_attention16_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D)
{
    place(arena, scratch, tg_attend16_work(keys, D));
}

/* The calling thread's scratch. */
static float *own(const tg_attention_scratch *scratch)
{
    return scratch->floats + tg_threads_self() * scratch->each;
}

/* The probabilities of one (b,h): where its rows begin in [B,H,T,T]. */
struct rows {
    const tg_dropout *drop;
    size_t first, T;
};

static struct rows rows_of(const tg_attention *a, size_t bh)
{
    return (struct rows){.drop = a->drop, .first = bh * a->T * a->T, .T = a->T};
}

static void keep(float *factors, size_t query, size_t first, size_t n, const void *context)
{
    const struct rows *rows = context;

    tg_dropout_factors(factors, rows->drop, rows->first + query * rows->T + first, n);
}

/* Offset in [B,T,width] of the first row of one (b,h), of rows that have C elements for the heads. */
static size_t row_of(const tg_attention *a, size_t bh, size_t width)
{
    return bh / a->H * a->T * width + bh % a->H * (a->C / a->H);
}

/* The arrays of an operation, of floats or of bf16, what it does not use being NULL; and what it does for one
 * (b,h). */
struct arrays {
    void (*one)(const struct arrays *x, const struct rows *rows, size_t bh);
    void *out, *dqkv;
    float *lse;
    const void *qkv, *dout, *saved_out;
    const float *saved_lse;
    const tg_attention *a;
};

static void some_heads(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;

    for (size_t bh = begin; bh < end; bh++) {
        const struct rows rows = rows_of(x->a, bh);

        x->one(x, &rows, bh);
    }
}

/* Each (b,h), by several threads if every query has so many keys. */
static void each_head(struct arrays x, size_t keys)
{
    const tg_attention *a = x.a;
    const size_t heads = a->B * a->H;
    const bool large = a->B * a->T * keys * a->C > 65536;

    tg_threads_run_on(a->scratch->threads, heads, large ? 1 : heads, some_heads, &x);
}

/* ---- float32 */

/* The kernel's inputs for one (b,h); the caller adds the outputs. */
static tg_attend head(const struct arrays *x, const struct rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    const size_t C = a->C, D = C / a->H;
    const float *q = (const float *)x->qkv + row_of(a, bh, 3 * C);

    return (tg_attend){
        .queries = a->T,
        .D = D,
        .scale = 1.0f / sqrtf((float)D),
        .q = q,
        .k = q + C,
        .v = q + 2 * C,
        .ldq = 3 * C,
        .ldk = 3 * C,
        .ldv = 3 * C,
        .ldo = C,
        .keep = rows->drop && rows->drop->p > 0 ? keep : NULL,
        .context = rows,
    };
}

/* Attend to the keys and values in qkv. */
static void forward_uncached(const struct arrays *x, const struct rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    tg_attend op = head(x, rows, bh);

    op.out = (float *)x->out + row_of(a, bh, a->C);
    op.lse = x->lse + bh * a->T;
    tg_kernels_get()->attend_forward(&op, own(a->scratch));
}

/* Attend to the keys and values in the cache, to which those in qkv have been appended. */
static void forward_cached(const struct arrays *x, const struct rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    const size_t C = a->C, D = C / a->H;
    const size_t b = bh / a->H, channel = bh % a->H * D;
    const size_t at = tg_kv_cache_at(a->cache, a->first + b, a->layer) + channel;
    tg_attend op = head(x, rows, bh);

    op.keep = NULL;
    op.past = a->cache->past;
    op.k = a->cache->k + at;
    op.v = a->cache->v + at;
    op.ldk = op.ldv = C;
    op.out = (float *)x->out + row_of(a, bh, C);
    tg_kernels_get()->attend_forward(&op, own(a->scratch));
}

void tg_attention_forward(float *out, float *lse, const float *qkv, const tg_attention *a)
{
    struct arrays x = {.one = forward_uncached, .out = out, .lse = lse, .qkv = qkv, .a = a};
    size_t keys = a->T;

    if (a->cache) {
        tg_kv_cache_append(a->cache, a->layer, qkv, a->first, a->B, a->T);
        x.one = forward_cached;
        keys += a->cache->past;
    }
    each_head(x, keys);
}

static void backward(const struct arrays *x, const struct rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    const size_t at = row_of(a, bh, a->C);
    tg_attend op = head(x, rows, bh);

    op.saved_out = (const float *)x->saved_out + at;
    op.saved_lse = x->saved_lse + bh * a->T;
    op.dout = (const float *)x->dout + at;
    op.dq = (float *)x->dqkv + row_of(a, bh, 3 * a->C);
    op.dk = op.dq + a->C;
    op.dv = op.dk + a->C;
    tg_kernels_get()->attend_backward(&op, own(a->scratch));
}

void tg_attention_backward(float *dqkv, const float *dout, const float *out, const float *lse,
                           const float *qkv, const tg_attention *a)
{
    each_head((struct arrays){.one = backward,
                              .dqkv = dqkv,
                              .dout = dout,
                              .saved_out = out,
                              .saved_lse = lse,
                              .qkv = qkv,
                              .a = a},
              a->T);
}

/* ---- bf16, without a cache */

static tg_attend16 head16(const struct arrays *x, const struct rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    const size_t C = a->C, D = C / a->H;
    const tg_bf16 *q = (const tg_bf16 *)x->qkv + row_of(a, bh, 3 * C);

    return (tg_attend16){
        .queries = a->T,
        .D = D,
        .scale = 1.0f / sqrtf((float)D),
        .q = q,
        .k = q + C,
        .v = q + 2 * C,
        .ldq = 3 * C,
        .ldk = 3 * C,
        .ldv = 3 * C,
        .ldo = C,
        .keep = rows->drop && rows->drop->p > 0 ? keep : NULL,
        .context = rows,
    };
}

static void forward16(const struct arrays *x, const struct rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    tg_attend16 op = head16(x, rows, bh);

    op.out = (tg_bf16 *)x->out + row_of(a, bh, a->C);
    op.lse = x->lse + bh * a->T;
    tg_kernels_get()->attend16_forward(&op, own(a->scratch));
}

void tg_attention16_forward(tg_bf16 *out, float *lse, const tg_bf16 *qkv, const tg_attention *a)
{
    each_head((struct arrays){.one = forward16, .out = out, .lse = lse, .qkv = qkv, .a = a}, a->T);
}

static void backward16(const struct arrays *x, const struct rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    const size_t at = row_of(a, bh, a->C);
    tg_attend16 op = head16(x, rows, bh);

    op.saved_out = (const tg_bf16 *)x->saved_out + at;
    op.saved_lse = x->saved_lse + bh * a->T;
    op.dout = (const tg_bf16 *)x->dout + at;
    op.dq = (tg_bf16 *)x->dqkv + row_of(a, bh, 3 * a->C);
    op.dk = op.dq + a->C;
    op.dv = op.dk + a->C;
    tg_kernels_get()->attend16_backward(&op, own(a->scratch));
}

void tg_attention16_backward(tg_bf16 *dqkv, const tg_bf16 *dout, const tg_bf16 *out, const float *lse,
                             const tg_bf16 *qkv, const tg_attention *a)
{
    each_head((struct arrays){.one = backward16,
                              .dqkv = dqkv,
                              .dout = dout,
                              .saved_out = out,
                              .saved_lse = lse,
                              .qkv = qkv,
                              .a = a},
              a->T);
}
