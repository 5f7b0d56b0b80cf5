#include "lib/nn/attention.h"

#include <math.h>
#include <omp.h>

#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/kernels/kernels.h"

void tg_attention_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D)
{
    scratch->threads = (size_t)omp_get_max_threads();
    scratch->each = tg_round_up(tg_attend_work(keys, D), TG_ALIGN / sizeof(float));
    scratch->floats = tg_arena_take(arena, scratch->threads * scratch->each, sizeof(float));
}

/* The calling thread's scratch. */
static float *own(const tg_attention_scratch *scratch)
{
    return scratch->floats + (size_t)omp_get_thread_num() * scratch->each;
}

/* The probabilities of one (b,h): where its rows begin in [B,H,T,T]. */
struct rows {
    const tg_dropout *drop;
    size_t first, T;
};

static void keep(float *factors, size_t query, size_t first, size_t n, const void *context)
{
    const struct rows *rows = context;

    tg_dropout_factors(factors, rows->drop, rows->first + query * rows->T + first, n);
}

/* Offset in [B,T,H,D] of the first row of one (b,h). */
static size_t row_of(size_t bh, size_t T, size_t C, size_t H)
{
    return bh / H * T * C + bh % H * (C / H);
}

/* The kernel's inputs for head h of sequence b; the caller adds the outputs. */
static tg_attend head(const float *qkv, const struct rows *rows, size_t b, size_t h, const tg_attention *a)
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
        .keep = rows->drop && rows->drop->p > 0 ? keep : NULL,
        .context = rows,
    };
}

/* Attend to the keys and values in qkv. */
static void forward_uncached(float *out, float *lse, const float *qkv, const tg_attention *a)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t B = a->B, T = a->T, C = a->C, H = a->H;

    #pragma omp parallel for schedule(static) num_threads((int)a->scratch->threads) \
        if (B * T * T * C > 65536)
    for (size_t bh = 0; bh < B * H; bh++) {
        const struct rows rows = {.drop = a->drop, .first = bh * T * T, .T = T};
        tg_attend op = head(qkv, &rows, bh / H, bh % H, a);

        op.out = out + row_of(bh, T, C, H);
        op.lse = lse + bh * T;
        kernels->attend_forward(&op, own(a->scratch));
    }
}

/* Attend to the keys and values in the cache, to which those in qkv have been appended. */
static void forward_cached(float *out, const float *qkv, const tg_attention *a)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t B = a->B, T = a->T, C = a->C, H = a->H, D = C / H, past = a->cache->past;

    #pragma omp parallel for schedule(static) num_threads((int)a->scratch->threads) \
        if (B * T * (past + T) * C > 65536)
    for (size_t bh = 0; bh < B * H; bh++) {
        const size_t b = bh / H, channel = bh % H * D;
        const size_t at = tg_kv_cache_at(a->cache, a->first + b, a->layer) + channel;
        tg_attend op = {
            .queries = T, .past = past, .D = D,
            .scale = 1.0f / sqrtf((float)D),
            .q = qkv + b * T * 3 * C + channel, .ldq = 3 * C,
            .k = a->cache->k + at, .ldk = C,
            .v = a->cache->v + at, .ldv = C,
            .out = out + b * T * C + channel, .ldo = C,
        };

        kernels->attend_forward(&op, own(a->scratch));
    }
}

void tg_attention_forward(float *out, float *lse, const float *qkv, const tg_attention *a)
{
    if (!a->cache) {
        forward_uncached(out, lse, qkv, a);
        return;
    }
    tg_kv_cache_append(a->cache, a->layer, qkv, a->first, a->B, a->T);
    forward_cached(out, qkv, a);
}

void tg_attention_backward(float *dqkv, const float *dout, const float *out, const float *lse,
                           const float *qkv, const tg_attention *a)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t B = a->B, T = a->T, C = a->C, H = a->H;

    #pragma omp parallel for schedule(static) num_threads((int)a->scratch->threads) \
        if (B * T * T * C > 65536)
    for (size_t bh = 0; bh < B * H; bh++) {
        const struct rows rows = {.drop = a->drop, .first = bh * T * T, .T = T};
        tg_attend op = head(qkv, &rows, bh / H, bh % H, a);

        op.saved_out = out + row_of(bh, T, C, H);
        op.saved_lse = lse + bh * T;
        op.dout = dout + row_of(bh, T, C, H);
        op.dq = dqkv + (op.q - qkv);
        op.dk = dqkv + (op.k - qkv);
        op.dv = dqkv + (op.v - qkv);
        kernels->attend_backward(&op, own(a->scratch));
    }
}
