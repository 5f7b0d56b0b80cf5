#include "lib/nn/layernorm.h"

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/linear.h"

void tg_layernorm_forward(float *out, float *mean, float *rstd, const float *inp, const float *w,
                          const float *bias, size_t N, size_t C, float epsilon)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (N * C > 16384)
    for (size_t n = 0; n < N; n++)
        kernels->layernorm_row(out + n * C, &mean[n], &rstd[n], inp + n * C, w, bias, C, epsilon);
}

void tg_layernorm_recompute(float *out, const float *mean, const float *rstd, const float *inp, const float *w,
                        const float *bias, size_t N, size_t C)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (N * C > 16384)
    for (size_t n = 0; n < N; n++)
        kernels->layernorm_apply(out + n * C, mean[n], rstd[n], inp + n * C, w, bias, C);
}

/* dw[c] += sum_n dout[n,c] * (inp[n,c] - mean[n]) * rstd[n], for the columns c0..c1 */
static void weight_backward(float *dw, const float *dout, const float *inp, const float *mean,
                            const float *rstd, size_t N, size_t C, size_t c0, size_t c1)
{
    for (size_t n = 0; n < N; n++) {
        const float *dout_n = dout + n * C, *inp_n = inp + n * C;

        for (size_t c = c0; c < c1; c++)
            dw[c] += dout_n[c] * (inp_n[c] - mean[n]) * rstd[n];
    }
}

void tg_layernorm_backward(float *dinp, float *dw, float *dbias, const float *dout, const float *inp,
                           const float *mean, const float *rstd, const float *w, size_t N, size_t C)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (N * C > 16384)
    for (size_t n = 0; n < N; n++)
        kernels->layernorm_row_backward(dinp + n * C, dout + n * C, inp + n * C, mean[n], rstd[n], w, C);
    if (dw) {
        #pragma omp parallel for schedule(static) if (N * C > 16384)
        for (size_t c = 0; c < C; c += TG_COLUMNS)
            weight_backward(dw, dout, inp, mean, rstd, N, C, c, tg_size_min(C, c + TG_COLUMNS));
    }
    if (dbias)
        tg_bias_backward(dbias, dout, C, N, C);
}
