/* Compiled twice: for activations in float32, and in bf16 (lib/nn/ops16.h), then without a cache. */
#include "lib/nn/attention.h"

#include <math.h>

#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/ops16.h"

#if TG_REAL == 16
typedef tg_bf16 act;
#include "lib/nn/names16.h"
#define tg_attend tg_attend16
#define tg_attend_work tg_attend16_work
#define attend_forward attend16_forward
#define attend_backward attend16_backward
#else
typedef float act;
#endif

void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D)
{
    scratch->threads = tg_threads();
    scratch->each = tg_round_up(tg_attend_work(keys, D), TG_ALIGN / sizeof(float));
    scratch->floats = tg_arena_take(arena, scratch->threads * scratch->each, sizeof(float));
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

/* The arrays of an operation; what it does not use is NULL. */
struct arrays {
    act *out, *dqkv;
    float *lse;
    const act *qkv, *dout, *saved_out;
    const float *saved_lse;
    const tg_attention *a;
};

/* The kernel's inputs for one (b,h); the caller adds the outputs. */
static tg_attend head(const struct arrays *x, const struct rows *rows, size_t bh)
{
    const tg_attention *a = x->a;
    const size_t C = a->C, D = C / a->H;
    const act *q = x->qkv + row_of(a, bh, 3 * C);

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

/* Run body for each (b,h), by several threads if every query has so many keys. */
static void each_head(struct arrays *x, size_t keys, tg_threads_body *body)
{
    const tg_attention *a = x->a;
    const size_t heads = a->B * a->H;
    const bool large = a->B * a->T * keys * a->C > 65536;

    tg_threads_run_on(a->scratch->threads, heads, large ? 1 : heads, body, x);
}

/* Attend to the keys and values in qkv. */
static void forward_uncached(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;

    for (size_t bh = begin; bh < end; bh++) {
        const struct rows rows = rows_of(a, bh);
        tg_attend op = head(x, &rows, bh);

        op.out = x->out + row_of(a, bh, a->C);
        op.lse = x->lse + bh * a->T;
        tg_kernels_get()->attend_forward(&op, own(a->scratch));
    }
}

#if TG_REAL != 16
/* Attend to the keys and values in the cache, to which those in qkv have been appended. */
static void forward_cached(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;
    const size_t T = a->T, C = a->C, H = a->H, D = C / H;

    for (size_t bh = begin; bh < end; bh++) {
        const size_t b = bh / H, channel = bh % H * D;
        const size_t at = tg_kv_cache_at(a->cache, a->first + b, a->layer) + channel;
        tg_attend op = {
            .queries = T,
            .past = a->cache->past,
            .D = D,
            .scale = 1.0f / sqrtf((float)D),
            .q = x->qkv + row_of(a, bh, 3 * C),
            .ldq = 3 * C,
            .k = a->cache->k + at,
            .ldk = C,
            .v = a->cache->v + at,
            .ldv = C,
            .out = x->out + row_of(a, bh, C),
            .ldo = C,
        };

        tg_kernels_get()->attend_forward(&op, own(a->scratch));
    }
}
#endif

void tg_attention_forward(act *out, float *lse, const act *qkv, const tg_attention *a)
{
    struct arrays x = {.out = out, .lse = lse, .qkv = qkv, .a = a};

#if TG_REAL != 16
    if (a->cache) {
        tg_kv_cache_append(a->cache, a->layer, qkv, a->first, a->B, a->T);
        each_head(&x, a->cache->past + a->T, forward_cached);
        return;
    }
#endif
    each_head(&x, a->T, forward_uncached);
}

static void backward(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;

    for (size_t bh = begin; bh < end; bh++) {
        const struct rows rows = rows_of(a, bh);
        const size_t at = row_of(a, bh, a->C);
        tg_attend op = head(x, &rows, bh);

        op.saved_out = x->saved_out + at;
        op.saved_lse = x->saved_lse + bh * a->T;
        op.dout = x->dout + at;
        op.dq = x->dqkv + (op.q - x->qkv);
        op.dk = x->dqkv + (op.k - x->qkv);
        op.dv = x->dqkv + (op.v - x->qkv);
        tg_kernels_get()->attend_backward(&op, own(a->scratch));
    }
}

void tg_attention_backward(act *dqkv, const act *dout, const act *out, const float *lse, const act *qkv,
                           const tg_attention *a)
{
    struct arrays x = {.dqkv = dqkv, .dout = dout, .saved_out = out, .saved_lse = lse, .qkv = qkv, .a = a};

    each_head(&x, a->T, backward);
}
