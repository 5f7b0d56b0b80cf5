#include "lib/nn/layernorm.h"

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/linear.h"

void tg_layernorm_forward(float *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                          size_t N)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t C = norm->C;

#pragma omp parallel for schedule(static) if (N * C > 16384)
    for (size_t n = 0; n < N; n++)
        kernels->layernorm_row(out + n * C, &stats.mean[n], &stats.rstd[n], inp + n * C, norm->w, norm->b, C,
                               (float)norm->epsilon);
}

void tg_layernorm_recompute(float *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                            size_t N)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t C = norm->C;

#pragma omp parallel for schedule(static) if (N * C > 16384)
    for (size_t n = 0; n < N; n++)
        kernels->layernorm_apply(out + n * C, stats.mean[n], stats.rstd[n], inp + n * C, norm->w, norm->b, C);
}

/* dw[c] += sum_n dout[n,c] * (inp[n,c] - mean[n]) * rstd[n], for the columns c0..c1 */
static void weight_backward(float *dw, const float *dout, const float *inp, tg_row_stats stats, size_t N,
                            size_t C, size_t c0, size_t c1)
{
    for (size_t n = 0; n < N; n++) {
        const float *dout_n = dout + n * C, *inp_n = inp + n * C;
        const float mean = stats.mean[n], rstd = stats.rstd[n];

        for (size_t c = c0; c < c1; c++)
            dw[c] += dout_n[c] * (inp_n[c] - mean) * rstd;
    }
}

void tg_layernorm_backward(float *dinp, const float *dout, const float *inp, tg_row_stats stats,
                           const tg_layernorm *norm, size_t N)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t C = norm->C;

#pragma omp parallel for schedule(static) if (N * C > 16384)
    for (size_t n = 0; n < N; n++)
        kernels->layernorm_row_backward(dinp + n * C, dout + n * C, inp + n * C, stats.mean[n], stats.rstd[n],
                                        norm->w, C);
    if (norm->dw) {
#pragma omp parallel for schedule(static) if (N * C > 16384)
        for (size_t c = 0; c < C; c += TG_COLUMNS)
            weight_backward(norm->dw, dout, inp, stats, N, C, c, tg_size_min(C, c + TG_COLUMNS));
    }
    if (norm->db)
        tg_bias_backward(norm->db, dout, C, N, C);
}
