#include "lib/nn/gelu.h"

#include <math.h>

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)4096) /* elements per thread at a time */
#endif

static void erf_forward(float *out, const float *inp, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 0.5f * inp[i] * (1.0f + erff(inp[i] * 0.70710678f));
}

/* gelu'(x) = Phi(x) + x phi(x) */
static void erf_slope(float *out, float *slope, const float *inp, size_t n)
{
    const float inv_sqrt_2pi = 0.39894228f;

    for (size_t i = 0; i < n; i++) {
        float x = inp[i];
        float cdf = 0.5f * (1.0f + erff(x * 0.70710678f));

        out[i] = x * cdf;
        slope[i] = cdf + x * inv_sqrt_2pi * expf(-0.5f * x * x);
    }
}

tg_gelu_function tg_gelu_elements(tg_gelu_kind kind)
{
    return kind == TG_GELU_TANH ? tg_kernels_get()->gelu_tanh_forward : erf_forward;
}

void tg_gelu_slope(float *out, float *slope, const float *inp, size_t n, tg_gelu_kind kind)
{
    void (*both)(float *, float *, const float *, size_t) =
        kind == TG_GELU_TANH ? tg_kernels_get()->gelu_tanh_slope : erf_slope;

    #pragma omp parallel for schedule(static) if (n > 2 * CHUNK)
    for (size_t i = 0; i < n; i += CHUNK)
        both(out + i, slope + i, inp + i, tg_size_min(CHUNK, n - i));
}

void tg_gelu_backward(float *dinp, const float *dout, const float *slope, size_t n)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (n > 2 * CHUNK)
    for (size_t i = 0; i < n; i += CHUNK)
        kernels->mul_elements(dinp + i, dout + i, slope + i, tg_size_min(CHUNK, n - i));
}
