#include "lib/nn/ref/real.h"

void REF(layernorm_forward)(real *out, real *mean, real *rstd, const real *inp, const real *w,
                            const real *bias, size_t N, size_t C, real eps)
{
    for (size_t n = 0; n < N; n++) {
        const real *inp_n = inp + n * C;
        real sum = 0, squares = 0;

        for (size_t c = 0; c < C; c++)
            sum += inp_n[c];
        mean[n] = sum / (real)C;
        for (size_t c = 0; c < C; c++)
            squares += (inp_n[c] - mean[n]) * (inp_n[c] - mean[n]);
        rstd[n] = 1 / sqrt(squares / (real)C + eps);
        for (size_t c = 0; c < C; c++) {
            real norm = (inp_n[c] - mean[n]) * rstd[n];

            out[n * C + c] = norm * (w ? w[c] : 1) + (bias ? bias[c] : 0);
        }
    }
}

void REF(layernorm_backward)(real *dinp, real *dw, real *dbias, const real *dout, const real *mean,
                             const real *rstd, const real *inp, const real *w, size_t N, size_t C)
{
    for (size_t n = 0; n < N; n++) {
        real dnorm_sum = 0, dnorm_norm_sum = 0;

        /* out = norm * w + bias */
        for (size_t c = 0; c < C; c++) {
            real norm = (inp[n * C + c] - mean[n]) * rstd[n];
            real dnorm = dout[n * C + c] * (w ? w[c] : 1);

            if (dw)
                dw[c] += dout[n * C + c] * norm;
            if (dbias)
                dbias[c] += dout[n * C + c];
            dnorm_sum += dnorm;
            dnorm_norm_sum += dnorm * norm;
        }
        /* norm = (inp - mean) * rstd, where mean and rstd also depend on inp */
        for (size_t c = 0; c < C; c++) {
            real norm = (inp[n * C + c] - mean[n]) * rstd[n];
            real dnorm = dout[n * C + c] * (w ? w[c] : 1);

            dinp[n * C + c] += rstd[n] * (dnorm - dnorm_sum / (real)C - norm * dnorm_norm_sum / (real)C);
        }
    }
}
