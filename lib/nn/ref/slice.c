#include <assert.h>

#include "lib/nn/ref/real.h"

void REF(slice_forward)(real *out, const real *inp, size_t N, size_t width, size_t start, size_t len)
{
    assert(start <= width && len <= width - start);
    for (size_t n = 0; n < N; n++)
        for (size_t c = 0; c < len; c++)
            out[n * len + c] = inp[n * width + start + c];
}

void REF(slice_backward)(real *dinp, const real *dout, size_t N, size_t width, size_t start, size_t len)
{
    assert(start <= width && len <= width - start);
    for (size_t n = 0; n < N; n++)
        for (size_t c = 0; c < len; c++)
            dinp[n * width + start + c] += dout[n * len + c];
}
