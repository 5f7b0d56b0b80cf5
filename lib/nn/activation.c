#include "lib/nn/activation.h"

#include <math.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/nn/pieces.h"
#include "lib/nn/ref/ref.h"

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

tg_activation_function tg_activation_elements(tg_activation kind)
{
    switch (kind) {
    case TG_GELU_TANH:
        return tg_kernels_get()->gelu_tanh_forward;
    case TG_GELU_ERF:
        return erf_forward;
    case TG_SILU:
        return tg_kernels_get()->silu_forward;
    case TG_RELU2:
        return tg_kernels_get()->relu2_forward;
    case TG_ACTIVATION_KINDS:
        break;
    }
    return NULL;
}

tg_activation_function tg_activation_gradient_elements(tg_activation kind)
{
    switch (kind) {
    case TG_GELU_TANH:
        return tg_kernels_get()->gelu_tanh_backward;
    case TG_GELU_ERF:
        return erf_backward;
    case TG_SILU:
        return tg_kernels_get()->silu_backward;
    case TG_RELU2:
        return tg_kernels_get()->relu2_backward;
    case TG_ACTIVATION_KINDS:
        break;
    }
    return NULL;
}

struct elements {
    tg_activation_function act;
    tg_matrix out, inp;
};

static void some_elements(void *context, size_t begin, size_t end)
{
    const struct elements *e = context;
    float values[TG_PIECE];

    for (size_t i = begin; i < end; i += TG_PIECE) {
        const size_t n = tg_size_min(TG_PIECE, end - i);
        float *out = tg_piece_begin(e->out, 0, i, values);

        e->act(out, tg_piece_read(e->inp, 0, i, n, values), n);
        tg_piece_write(e->out, 0, i, n, out);
    }
}

void tg_activation_forward(tg_matrix out, tg_matrix inp, size_t N, tg_activation kind)
{
    const size_t n = N * inp.cols;

    if (inp.type == TG_TYPE_DOUBLE)
        tg_activation_forward_ref64(tg_doubles(out), tg_doubles(inp), n, kind);
    else
        tg_threads_run(n, TG_THREADS_ELEMENTS, some_elements,
                       &(struct elements){tg_activation_elements(kind), out, inp});
}
