#include "lib/nn/attention.h"

#include <math.h>
#include <omp.h>

#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/kernels/kernels.h"

/* Floats of scratch of one thread, in whole cache lines. */
static size_t thread_work(size_t keys, size_t D)
{
    return tg_round_up(tg_attend_work(keys, D), TG_ALIGN / sizeof(float));
}

size_t tg_attention_work(size_t keys, size_t D)
{
    return (size_t)omp_get_max_threads() * thread_work(keys, D) * sizeof(float);
}

static float *own_work(void *work, size_t keys, size_t D)
{
    return (float *)work + (size_t)omp_get_thread_num() * thread_work(keys, D);
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

/* The view of head h of sequence b. */
static tg_attend head(const float *qkv, float *out, float *lse, const struct rows *rows, size_t b, size_t h,
                      size_t T, size_t C, size_t H)
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
        .out = out + b * T * C + h * D,
        .ldo = C,
        .lse = lse + (b * H + h) * T,
        .keep = rows->drop && rows->drop->p > 0 ? keep : NULL,
        .context = rows,
    };
}

void tg_attention_forward(float *out, float *lse, const float *qkv, const tg_dropout *drop, size_t B,
                          size_t T, size_t C, size_t H, void *work)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (B * T * T * C > 65536)
    for (size_t bh = 0; bh < B * H; bh++) {
        const struct rows rows = {.drop = drop, .first = bh * T * T, .T = T};
        tg_attend op = head(qkv, out, lse, &rows, bh / H, bh % H, T, C, H);

        kernels->attend_forward(&op, own_work(work, T, C / H));
    }
}

void tg_attention_backward(float *dqkv, const float *dout, const float *out, const float *lse,
                           const float *qkv, const tg_dropout *drop, size_t B, size_t T, size_t C, size_t H,
                           void *work)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (B * T * T * C > 65536)
    for (size_t bh = 0; bh < B * H; bh++) {
        const struct rows rows = {.drop = drop, .first = bh * T * T, .T = T};
        /* backward reads out and lse; the view has them writable for forward's sake */
        tg_attend op = head(qkv, (float *)(uintptr_t)out, (float *)(uintptr_t)lse, &rows, bh / H, bh % H, T,
                            C, H);

        op.dout = dout + (op.out - out);
        op.dq = dqkv + (op.q - qkv);
        op.dk = dqkv + (op.k - qkv);
        op.dv = dqkv + (op.v - qkv);
        kernels->attend_backward(&op, own_work(work, T, C / H));
    }
}

void tg_attention_cached(float *out, const float *qkv, const float *k, const float *v, size_t n, size_t past,
                         size_t C, size_t H, void *work)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t D = C / H;

    #pragma omp parallel for schedule(static) if (n * (past + n) * C > 65536)
    for (size_t h = 0; h < H; h++) {
        tg_attend op = {
            .queries = n, .past = past, .D = D,
            .scale = 1.0f / sqrtf((float)D),
            .q = qkv + h * D, .ldq = 3 * C,
            .k = k + h * D, .ldk = C,
            .v = v + h * D, .ldv = C,
            .out = out + h * D, .ldo = C,
        };

        kernels->attend_forward(&op, own_work(work, past + n, D));
    }
}
