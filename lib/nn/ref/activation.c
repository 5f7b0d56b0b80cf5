#include "lib/nn/ref/real.h"

static const real sqrt_2_over_pi = (real)0.79788456080286535588;
static const real sqrt_half = (real)0.70710678118654752440;
static const real one_over_sqrt_2pi = (real)0.39894228040143267794;
static const real cubic = (real)0.044715;
static const real half = (real)0.5;

static real sigmoid(real x)
{
    return 1 / (1 + exp(-x));
}

static real value(real x, tg_activation kind)
{
    switch (kind) {
    case TG_GELU_TANH:
        return half * x * (1 + tanh(sqrt_2_over_pi * (x + cubic * x * x * x)));
    case TG_GELU_ERF:
        return half * x * (1 + erf(x * sqrt_half));
    case TG_SILU:
        return x * sigmoid(x);
    case TG_RELU2:
        return x < 0 ? 0 : x * x;
    case TG_ACTIVATION_KINDS:
        break;
    }
    return 0;
}

void REF(activation_forward)(real *out, const real *inp, size_t n, tg_activation kind)
{
    for (size_t i = 0; i < n; i++)
        out[i] = value(inp[i], kind);
}

/* d/dx 0.5 x (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3) */
static real tanh_slope(real x)
{
    real t = tanh(sqrt_2_over_pi * (x + cubic * x * x * x));
    real du = sqrt_2_over_pi * (1 + 3 * cubic * x * x);

    return half * (1 + t) + half * x * (1 - t * t) * du;
}

/* d/dx 0.5 x (1 + erf(x / sqrt 2)): the distribution plus x times the density */
static real erf_slope(real x)
{
    return half * (1 + erf(x * sqrt_half)) + x * one_over_sqrt_2pi * exp(-half * x * x);
}

static real silu_slope(real x)
{
    const real s = sigmoid(x);

    return s * (1 + x * (1 - s));
}

static real slope(real x, tg_activation kind)
{
    switch (kind) {
    case TG_GELU_TANH:
        return tanh_slope(x);
    case TG_GELU_ERF:
        return erf_slope(x);
    case TG_SILU:
        return silu_slope(x);
    case TG_RELU2:
        return x < 0 ? 0 : 2 * x;
    case TG_ACTIVATION_KINDS:
        break;
    }
    return 0;
}

void REF(activation_backward)(real *dinp, const real *dout, const real *inp, size_t n, tg_activation kind)
{
    for (size_t i = 0; i < n; i++)
        dinp[i] += dout[i] * slope(inp[i], kind);
}
