/* LayerNorm, GELU and the head's loss with bf16 results: see lib/nn/ops16.h. */
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/ops16.h"

#define PIECE ((size_t)512) /* values that are in float32 at a time */

/* ---- LayerNorm */

struct norm_rows {
    tg_bf16 *out;
    const float *inp;
    tg_row_stats stats;
    const tg_layernorm *norm;
};

static const float *from(const float *vector, size_t c)
{
    return vector ? vector + c : NULL;
}

static void norm_row(const struct norm_rows *r, size_t n)
{
    const tg_kernels *kernels = tg_kernels_get();
    const tg_layernorm *norm = r->norm;
    const size_t C = norm->C;
    float values[PIECE];

    for (size_t c = 0; c < C; c += PIECE) {
        const size_t some = tg_size_min(PIECE, C - c);

        kernels->layernorm_apply(values, r->stats.mean[n], r->stats.rstd[n], r->inp + n * C + c,
                                 from(norm->w, c), from(norm->b, c), some);
        kernels->round16(r->out + n * C + c, values, some);
    }
}

static void recompute_rows(void *context, size_t begin, size_t end)
{
    const struct norm_rows *r = context;

    for (size_t n = begin; n < end; n++)
        norm_row(r, n);
}

void tg_layernorm16_recompute(tg_bf16 *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                              size_t N)
{
    tg_threads_run(N, tg_threads_grain(norm->C, 1), recompute_rows,
                   &(struct norm_rows){out, inp, stats, norm});
}

static void forward_rows(void *context, size_t begin, size_t end)
{
    const struct norm_rows *r = context;
    const size_t C = r->norm->C;

    for (size_t n = begin; n < end; n++) {
        tg_kernels_get()->layernorm_stats(&r->stats.mean[n], &r->stats.rstd[n], r->inp + n * C, C,
                                          (float)r->norm->epsilon);
        norm_row(r, n);
    }
}

void tg_layernorm16_forward(tg_bf16 *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                            size_t N)
{
    tg_threads_run(N, tg_threads_grain(norm->C, 1), forward_rows, &(struct norm_rows){out, inp, stats, norm});
}

/* ---- GELU */

struct elements {
    tg_gelu_function gelu;
    tg_bf16 *out;
    const tg_bf16 *inp;
};

static void gelu_elements(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct elements *e = context;
    float values[PIECE];

    for (size_t i = begin; i < end; i += PIECE) {
        const size_t n = tg_size_min(PIECE, end - i);

        kernels->widen(values, e->inp + i, n);
        e->gelu(values, values, n);
        kernels->round16(e->out + i, values, n);
    }
}

void tg_gelu16_forward(tg_bf16 *out, const tg_bf16 *inp, size_t n, tg_gelu_kind kind)
{
    tg_threads_run(n, TG_THREADS_ELEMENTS, gelu_elements,
                   &(struct elements){tg_gelu_elements(kind), out, inp});
}
