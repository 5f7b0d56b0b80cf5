#include "lib/nn/gelu.h"

#include <math.h>

#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

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

struct slopes {
    void (*both)(float *, float *, const float *, size_t);
    float *out, *slope;
    const float *inp;
};

static void slope_elements(void *context, size_t begin, size_t end)
{
    const struct slopes *s = context;

    s->both(s->out + begin, s->slope + begin, s->inp + begin, end - begin);
}

void tg_gelu_slope(float *out, float *slope, const float *inp, size_t n, tg_gelu_kind kind)
{
    struct slopes s = {
        .both = kind == TG_GELU_TANH ? tg_kernels_get()->gelu_tanh_slope : erf_slope,
        .out = out,
        .slope = slope,
        .inp = inp,
    };

    tg_threads_run(n, TG_THREADS_ELEMENTS, slope_elements, &s);
}

struct gradients {
    float *dinp;
    const float *dout, *slope;
};

static void backward_elements(void *context, size_t begin, size_t end)
{
    const struct gradients *g = context;

    tg_kernels_get()->mul_elements(g->dinp + begin, g->dout + begin, g->slope + begin, end - begin);
}

void tg_gelu_backward(float *dinp, const float *dout, const float *slope, size_t n)
{
    tg_threads_run(n, TG_THREADS_ELEMENTS, backward_elements, &(struct gradients){dinp, dout, slope});
}
