#include "lib/nn/layernorm.h"

#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/linear.h"

/* The arrays of an operation; what it does not use is NULL. */
struct norm_rows {
    float *out; /* dinp, backward */
    const float *dout, *inp;
    tg_row_stats stats;
    const tg_layernorm *norm;
    size_t N;
};

static void forward_rows(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct norm_rows *r = context;
    const tg_layernorm *norm = r->norm;
    const size_t C = norm->C;

    for (size_t n = begin; n < end; n++) {
        kernels->layernorm_stats(&r->stats.mean[n], &r->stats.rstd[n], r->inp + n * C, C,
                                 (float)norm->epsilon);
        kernels->layernorm_apply(r->out + n * C, r->stats.mean[n], r->stats.rstd[n], r->inp + n * C, norm->w,
                                 norm->b, C);
    }
}

void tg_layernorm_forward(float *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                          size_t N)
{
    struct norm_rows rows = {out, NULL, inp, stats, norm, N};

    tg_threads_run(N, tg_threads_grain(norm->C, 1), forward_rows, &rows);
}

static void recompute_rows(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct norm_rows *r = context;
    const tg_layernorm *norm = r->norm;
    const size_t C = norm->C;

    for (size_t n = begin; n < end; n++)
        kernels->layernorm_apply(r->out + n * C, r->stats.mean[n], r->stats.rstd[n], r->inp + n * C, norm->w,
                                 norm->b, C);
}

void tg_layernorm_recompute(float *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                            size_t N)
{
    struct norm_rows rows = {out, NULL, inp, stats, norm, N};

    tg_threads_run(N, tg_threads_grain(norm->C, 1), recompute_rows, &rows);
}

static void backward_rows(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct norm_rows *r = context;
    const size_t C = r->norm->C;

    for (size_t n = begin; n < end; n++)
        kernels->layernorm_row_backward(r->out + n * C, r->dout + n * C, r->inp + n * C, r->stats.mean[n],
                                        r->stats.rstd[n], r->norm->w, C);
}

/* dw[c] += sum_n dout[n,c] * (inp[n,c] - mean[n]) * rstd[n], for the columns begin .. end-1 */
static void weight_columns(void *context, size_t begin, size_t end)
{
    const struct norm_rows *r = context;
    const size_t C = r->norm->C;
    float *dw = r->norm->dw;

    for (size_t n = 0; n < r->N; n++) {
        const float *dout = r->dout + n * C, *inp = r->inp + n * C;
        const float mean = r->stats.mean[n], rstd = r->stats.rstd[n];

        for (size_t c = begin; c < end; c++)
            dw[c] += dout[c] * (inp[c] - mean) * rstd;
    }
}

void tg_layernorm_backward(float *dinp, const float *dout, const float *inp, tg_row_stats stats,
                           const tg_layernorm *norm, size_t N)
{
    struct norm_rows rows = {dinp, dout, inp, stats, norm, N};

    tg_threads_run(N, tg_threads_grain(norm->C, 1), backward_rows, &rows);
    if (norm->dw)
        tg_threads_run(norm->C, tg_threads_grain(N, TG_COLUMNS), weight_columns, &rows);
    if (norm->db)
        tg_bias_backward(norm->db, dout, norm->C, N, norm->C);
}
