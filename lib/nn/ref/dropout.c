#include "lib/nn/ref/real.h"

void REF(dropout_forward)(real *out, const real *inp, const real *mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = inp[i] * mask[i];
}

void REF(dropout_backward)(real *dinp, const real *dout, const real *mask, size_t n)
{
    for (size_t i = 0; i < n; i++)
        dinp[i] += dout[i] * mask[i];
}
