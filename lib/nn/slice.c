#include "lib/nn/slice.h"

#include <string.h>

#include "lib/kernels/kernels.h"

void tg_slice_forward(float *out, const float *inp, size_t N, size_t width, size_t start, size_t len)
{
    for (size_t n = 0; n < N; n++)
        memcpy(out + n * len, inp + n * width + start, len * sizeof(float));
}

void tg_slice_backward(float *dinp, const float *dout, size_t N, size_t width, size_t start, size_t len)
{
    const tg_kernels *kernels = tg_kernels_get();

    for (size_t n = 0; n < N; n++)
        kernels->add(dinp + n * width + start, dout + n * len, len);
}
