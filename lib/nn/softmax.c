#include "lib/nn/softmax.h"

#include "lib/kernels/kernels.h"

void tg_softmax_forward(float *out, const float *inp, size_t N, size_t W)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (N > 1 && N * W > 16384)
    for (size_t n = 0; n < N; n++)
        kernels->softmax_row(out + n * W, inp + n * W, W);
}

void tg_softmax_backward(float *dinp, const float *dout, const float *out, size_t N, size_t W)
{
    #pragma omp parallel for schedule(static) if (N > 1 && N * W > 16384)
    for (size_t n = 0; n < N; n++) {
        const float *dout_n = dout + n * W, *out_n = out + n * W;
        float through = 0;

        for (size_t i = 0; i < W; i++)
            through += dout_n[i] * out_n[i];
        for (size_t i = 0; i < W; i++)
            dinp[n * W + i] = out_n[i] * (dout_n[i] - through);
    }
}
