#include "lib/nn/attention.h"

#include <math.h>

#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/attention_heads.h"

void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D)
{
    scratch->threads = tg_threads();
    scratch->each = tg_round_up(tg_attend_work(keys, D), TG_ALIGN / sizeof(float));
    scratch->floats = tg_arena_take(arena, scratch->threads * scratch->each, sizeof(float));
}

/* The kernel's inputs for head h of sequence b; the caller adds the outputs. */
static tg_attend head(const float *qkv, const tg_attention_rows *rows, size_t b, size_t h,
                      const tg_attention *a)
{
    const size_t T = a->T, C = a->C, D = C / a->H, at = b * T * 3 * C + h * D;

    return (tg_attend){
        .queries = T,
        .D = D,
        .scale = 1.0f / sqrtf((float)D),
        .q = qkv + at,
        .k = qkv + at + C,
        .v = qkv + at + 2 * C,
        .ldq = 3 * C,
        .ldk = 3 * C,
        .ldv = 3 * C,
        .ldo = C,
        .keep = rows->drop && rows->drop->p > 0 ? tg_attention_keep : NULL,
        .context = rows,
    };
}

/* The arrays of an operation; what it does not use is NULL. */
struct arrays {
    float *out, *lse, *dqkv;
    const float *qkv, *dout, *saved_out, *saved_lse;
    const tg_attention *a;
};

/* Attend to the keys and values in qkv. */
static void forward_uncached(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;
    const size_t T = a->T, C = a->C, H = a->H;

    for (size_t bh = begin; bh < end; bh++) {
        const tg_attention_rows rows = {.drop = a->drop, .first = bh * T * T, .T = T};
        tg_attend op = head(x->qkv, &rows, bh / H, bh % H, a);

        op.out = x->out + tg_attention_row(bh, T, C, H);
        op.lse = x->lse + bh * T;
        tg_kernels_get()->attend_forward(&op, tg_attention_own(a->scratch));
    }
}

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
            .q = x->qkv + b * T * 3 * C + channel,
            .ldq = 3 * C,
            .k = a->cache->k + at,
            .ldk = C,
            .v = a->cache->v + at,
            .ldv = C,
            .out = x->out + b * T * C + channel,
            .ldo = C,
        };

        tg_kernels_get()->attend_forward(&op, tg_attention_own(a->scratch));
    }
}

void tg_attention_forward(float *out, float *lse, const float *qkv, const tg_attention *a)
{
    struct arrays x = {.out = out, .lse = lse, .qkv = qkv, .a = a};

    if (!a->cache) {
        tg_attention_each_head(a, a->T, forward_uncached, &x);
        return;
    }
    tg_kv_cache_append(a->cache, a->layer, qkv, a->first, a->B, a->T);
    tg_attention_each_head(a, a->cache->past + a->T, forward_cached, &x);
}

static void backward(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;
    const size_t T = a->T, C = a->C, H = a->H;

    for (size_t bh = begin; bh < end; bh++) {
        const tg_attention_rows rows = {.drop = a->drop, .first = bh * T * T, .T = T};
        tg_attend op = head(x->qkv, &rows, bh / H, bh % H, a);

        op.saved_out = x->saved_out + tg_attention_row(bh, T, C, H);
        op.saved_lse = x->saved_lse + bh * T;
        op.dout = x->dout + tg_attention_row(bh, T, C, H);
        op.dq = x->dqkv + (op.q - x->qkv);
        op.dk = x->dqkv + (op.k - x->qkv);
        op.dv = x->dqkv + (op.v - x->qkv);
        tg_kernels_get()->attend_backward(&op, tg_attention_own(a->scratch));
    }
}

void tg_attention_backward(float *dqkv, const float *dout, const float *out, const float *lse,
                           const float *qkv, const tg_attention *a)
{
    struct arrays x = {.dqkv = dqkv, .dout = dout, .saved_out = out, .saved_lse = lse, .qkv = qkv, .a = a};

    tg_attention_each_head(a, a->T, backward, &x);
}
