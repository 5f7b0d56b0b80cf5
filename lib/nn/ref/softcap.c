#include "lib/nn/ref/real.h"

void REF(softcap_forward)(real *out, const real *inp, size_t n, double cap)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (real)cap * tanh(inp[i] / (real)cap);
}

void REF(softcap_backward)(real *dinp, const real *dout, const real *out, size_t n, double cap)
{
    for (size_t i = 0; i < n; i++) {
        const real t = out[i] / (real)cap;

        dinp[i] += dout[i] * (1 - t * t);
    }
}
