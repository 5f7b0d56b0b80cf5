#include "lib/nn/slice.h"

#include <string.h>

void tg_slice_forward(float *out, const float *inp, size_t N, size_t width, size_t start, size_t len)
{
    for (size_t n = 0; n < N; n++)
        memcpy(out + n * len, inp + n * width + start, len * sizeof(float));
}
