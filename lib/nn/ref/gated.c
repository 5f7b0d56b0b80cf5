#include "lib/nn/ref/real.h"

static real sigmoid(real x)
{
    return 1 / (1 + exp(-x));
}

void REF(silu_forward)(real *out, const real *inp, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = inp[i] * sigmoid(inp[i]);
}

void REF(silu_backward)(real *dinp, const real *dout, const real *inp, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const real s = sigmoid(inp[i]);

        dinp[i] += dout[i] * s * (1 + inp[i] * (1 - s));
    }
}

static void activate(real *out, const real *inp, tg_activation kind)
{
    if (kind == TG_SILU)
        REF(silu_forward)(out, inp, 1);
    else
        REF(gelu_forward)(out, inp, 1, kind);
}

static void activate_backward(real *dinp, const real *dout, const real *inp, tg_activation kind)
{
    if (kind == TG_SILU)
        REF(silu_backward)(dinp, dout, inp, 1);
    else
        REF(gelu_backward)(dinp, dout, inp, 1, kind);
}

void REF(gated_forward)(real *out, const real *gate, const real *up, size_t n, tg_activation kind)
{
    for (size_t i = 0; i < n; i++) {
        real active;

        activate(&active, &gate[i], kind);
        out[i] = active * up[i];
    }
}

void REF(gated_backward)(real *dgate, real *dup, const real *dout, const real *gate, const real *up, size_t n,
                         tg_activation kind)
{
    for (size_t i = 0; i < n; i++) {
        const real dactive = dout[i] * up[i];
        real active;

        activate(&active, &gate[i], kind);
        dup[i] += dout[i] * active;
        activate_backward(&dgate[i], &dactive, &gate[i], kind);
    }
}
