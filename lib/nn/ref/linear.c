#include "lib/nn/ref/real.h"

void REF(linear_forward)(real *out, const real *inp, const real *w, const real *bias, size_t N, size_t C,
                         size_t OC)
{
    for (size_t n = 0; n < N; n++) {
        for (size_t o = 0; o < OC; o++) {
            real sum = 0;

            for (size_t c = 0; c < C; c++)
                sum += inp[n * C + c] * w[c * OC + o];
            out[n * OC + o] = bias ? sum + bias[o] : sum;
        }
    }
}

void REF(linear_transposed_forward)(real *out, const real *inp, const real *w, const real *bias, size_t N,
                                    size_t C, size_t OC)
{
    for (size_t n = 0; n < N; n++) {
        for (size_t o = 0; o < OC; o++) {
            real sum = 0;

            for (size_t c = 0; c < C; c++)
                sum += inp[n * C + c] * w[o * C + c];
            out[n * OC + o] = bias ? sum + bias[o] : sum;
        }
    }
}

/* dinp = dout w^T */
static void input_gradient(real *dinp, const real *dout, const real *w, size_t N, size_t C, size_t OC)
{
    for (size_t n = 0; n < N; n++) {
        for (size_t c = 0; c < C; c++) {
            real sum = 0;

            for (size_t o = 0; o < OC; o++)
                sum += dout[n * OC + o] * w[c * OC + o];
            dinp[n * C + c] += sum;
        }
    }
}

/* dw = inp^T dout */
static void weight_gradient(real *dw, const real *dout, const real *inp, size_t N, size_t C, size_t OC)
{
    for (size_t c = 0; c < C; c++) {
        for (size_t o = 0; o < OC; o++) {
            real sum = 0;

            for (size_t n = 0; n < N; n++)
                sum += inp[n * C + c] * dout[n * OC + o];
            dw[c * OC + o] += sum;
        }
    }
}

static void bias_gradient(real *dbias, const real *dout, size_t N, size_t OC)
{
    for (size_t o = 0; o < OC; o++) {
        real sum = 0;

        for (size_t n = 0; n < N; n++)
            sum += dout[n * OC + o];
        dbias[o] += sum;
    }
}

void REF(linear_backward)(real *dinp, real *dw, real *dbias, const real *dout, const real *inp, const real *w,
                          size_t N, size_t C, size_t OC)
{
    /* out[n,o] = sum over c of inp[n,c] * w[c,o] + bias[o] */
    input_gradient(dinp, dout, w, N, C, OC);
    weight_gradient(dw, dout, inp, N, C, OC);
    if (dbias)
        bias_gradient(dbias, dout, N, OC);
}
