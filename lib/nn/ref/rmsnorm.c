#include "lib/nn/ref/real.h"

void REF(rmsnorm_forward)(real *out, real *rstd, const real *inp, const real *w, real offset, size_t N,
                          size_t C, real eps)
{
    for (size_t n = 0; n < N; n++) {
        const real *inp_n = inp + n * C;
        real squares = 0;

        for (size_t c = 0; c < C; c++)
            squares += inp_n[c] * inp_n[c];
        rstd[n] = 1 / sqrt(squares / (real)C + eps);
        for (size_t c = 0; c < C; c++)
            out[n * C + c] = inp_n[c] * rstd[n] * (w ? offset + w[c] : 1);
    }
}

void REF(rmsnorm_backward)(real *dinp, real *dw, const real *dout, const real *rstd, const real *inp,
                           const real *w, real offset, size_t N, size_t C)
{
    for (size_t n = 0; n < N; n++) {
        const real *dout_n = dout + n * C, *inp_n = inp + n * C;
        real dnorm_norm_sum = 0;

        /* out = norm * gain, gain = offset + w */
        for (size_t c = 0; c < C; c++) {
            const real norm = inp_n[c] * rstd[n];

            if (dw)
                dw[c] += dout_n[c] * norm;
            dnorm_norm_sum += dout_n[c] * (w ? offset + w[c] : 1) * norm;
        }
        /* norm = inp * rstd, where rstd also depends on inp */
        for (size_t c = 0; c < C; c++) {
            const real norm = inp_n[c] * rstd[n], dnorm = dout_n[c] * (w ? offset + w[c] : 1);

            dinp[n * C + c] += rstd[n] * (dnorm - norm * dnorm_norm_sum / (real)C);
        }
    }
}
