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
static void erf_backward(float *d, const float *inp, size_t n)
{
    const float inv_sqrt_2pi = 0.39894228f;

    for (size_t i = 0; i < n; i++) {
        float x = inp[i];
        float cdf = 0.5f * (1.0f + erff(x * 0.70710678f));

        d[i] *= cdf + x * inv_sqrt_2pi * expf(-0.5f * x * x);
    }
}

tg_gelu_function tg_gelu_elements(tg_gelu_kind kind)
{
    return kind == TG_GELU_TANH ? tg_kernels_get()->gelu_tanh_forward : erf_forward;
}

tg_gelu_function tg_gelu_gradient_elements(tg_gelu_kind kind)
{
    return kind == TG_GELU_TANH ? tg_kernels_get()->gelu_tanh_backward : erf_backward;
}

struct elements {
    tg_gelu_function gelu;
    float *out;
    const float *inp;
};

static void some_elements(void *context, size_t begin, size_t end)
{
    const struct elements *e = context;

    e->gelu(e->out + begin, e->inp + begin, end - begin);
}

void tg_gelu_forward(float *out, const float *inp, size_t n, tg_gelu_kind kind)
{
    tg_threads_run(n, TG_THREADS_ELEMENTS, some_elements,
                   &(struct elements){tg_gelu_elements(kind), out, inp});
}
