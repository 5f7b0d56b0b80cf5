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

static float *own(const tg_attention_scratch *scratch)
{
    return scratch->floats + (size_t)omp_get_thread_num() * scratch->each;
}

/* Where in [B,H,T,T] the rows of one (b,h) begin. */
struct rows {
    const tg_dropout *drop;
    size_t first, T;
};

static void keep(float *factors, size_t query, size_t first, size_t n, const void *context)
{
    const struct rows *rows = context;

    tg_dropout_factors(factors, rows->drop, rows->first + query * rows->T + first, n);
}

/* Where in [B,T,H,D] the first row of one (b,h) begins. */
static size_t row_of(size_t bh, size_t T, size_t C, size_t H)
{
    return bh / H * T * C + bh % H * (C / H);
}

/* The view of head h of sequence b, without what it writes. */
static tg_attend head(const float *qkv, const struct rows *rows, size_t b, size_t h, size_t T, size_t C,
                      size_t H)
{
    const size_t D = C / H, at = b * T * 3 * C + h * D;

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

void tg_attention_forward(float *out, float *lse, const float *qkv, const tg_dropout *drop, size_t B,
                          size_t T, size_t C, size_t H, const tg_attention_scratch *scratch)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) num_threads((int)scratch->threads) \
        if (B * T * T * C > 65536)
    for (size_t bh = 0; bh < B * H; bh++) {
        const struct rows rows = {.drop = drop, .first = bh * T * T, .T = T};
        tg_attend op = head(qkv, &rows, bh / H, bh % H, T, C, H);

        op.out = out + row_of(bh, T, C, H);
        op.lse = lse + bh * T;
        kernels->attend_forward(&op, own(scratch));
    }
}

void tg_attention_backward(float *dqkv, const float *dout, const float *out, const float *lse,
                           const float *qkv, const tg_dropout *drop, size_t B, size_t T, size_t C, size_t H,
                           const tg_attention_scratch *scratch)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) num_threads((int)scratch->threads) \
        if (B * T * T * C > 65536)
    for (size_t bh = 0; bh < B * H; bh++) {
        const struct rows rows = {.drop = drop, .first = bh * T * T, .T = T};
        tg_attend op = head(qkv, &rows, bh / H, bh % H, T, C, H);

        op.saved_out = out + row_of(bh, T, C, H);
        op.saved_lse = lse + bh * T;
        op.dout = dout + row_of(bh, T, C, H);
        op.dq = dqkv + (op.q - qkv);
        op.dk = dqkv + (op.k - qkv);
        op.dv = dqkv + (op.v - qkv);
        kernels->attend_backward(&op, own(scratch));
    }
}

void tg_attention_cached(float *out, const float *qkv, const float *k, const float *v, size_t ld, size_t B,
                         size_t n, size_t past, size_t C, size_t H, const tg_attention_scratch *scratch)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t D = C / H;

    #pragma omp parallel for schedule(static) num_threads((int)scratch->threads) \
        if (B * n * (past + n) * C > 65536)
    for (size_t bh = 0; bh < B * H; bh++) {
        const size_t b = bh / H, first = bh % H * D;
        tg_attend op = {
            .queries = n, .past = past, .D = D,
            .scale = 1.0f / sqrtf((float)D),
            .q = qkv + b * n * 3 * C + first, .ldq = 3 * C,
            .k = k + b * ld + first, .ldk = C,
            .v = v + b * ld + first, .ldv = C,
            .out = out + b * n * C + first, .ldo = C,
        };

        kernels->attend_forward(&op, own(scratch));
    }
}
