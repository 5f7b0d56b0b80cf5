/* Kernels on rows that families after GPT-2 need: RMSNorm, rotation by position, SiLU.  See kernels.h and,
 * for the equations, the references in lib/nn/ref/. */
#include "lib/kernels/isa/elements.h"
#include "lib/kernels/isa/exp2.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/isa/kernels_isa.h"

/* ---- RMSNorm */

void ISA_NAME(rmsnorm_apply)(float *out, const float *inp, float rstd, const tg_gains *gains, size_t first,
                             size_t n)
{
    const float offset = gains->offset, *w = gains->w ? gains->w + first : NULL;

    for (size_t c = 0; c < n; c++)
        out[c] = inp[c] * rstd;
    if (w)
        for (size_t c = 0; c < n; c++)
            out[c] *= offset + w[c];
}

/* Partial sums in double, as sum_squares has them. */
double ISA_NAME(rmsnorm_dot)(const float *dout, const float *inp, const tg_gains *gains, size_t first,
                             size_t n)
{
    const float offset = gains->offset, *w = gains->w ? gains->w + first : NULL;
    double part[16] = {0}, total = 0;
    size_t c = 0;

    for (; w && c + 16 <= n; c += 16)
        for (size_t l = 0; l < 16; l++)
            part[l] += (double)dout[c + l] * (double)inp[c + l] * (double)(offset + w[c + l]);
    for (; !w && c + 16 <= n; c += 16)
        for (size_t l = 0; l < 16; l++)
            part[l] += (double)dout[c + l] * (double)inp[c + l];
    for (; c < n; c++)
        part[0] += (double)dout[c] * (double)inp[c] * (w ? (double)(offset + w[c]) : 1);
    for (size_t l = 0; l < 16; l++)
        total += part[l];
    return total;
}

void ISA_NAME(rmsnorm_backward)(float *dinp, const float *dout, const float *inp, float rstd, float factor,
                                const tg_gains *gains, size_t first, size_t n)
{
    const float offset = gains->offset, *w = gains->w ? gains->w + first : NULL;

    if (w)
        for (size_t c = 0; c < n; c++)
            dinp[c] += dout[c] * (offset + w[c]) * rstd - inp[c] * factor;
    else
        for (size_t c = 0; c < n; c++)
            dinp[c] += dout[c] * rstd - inp[c] * factor;
}

/* ---- rotation */

void ISA_NAME(rotate)(float *out_a, float *out_b, const float *a, const float *b, const float *cosines,
                      const float *sines, float sign, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float x = a[i], y = b[i], sine = sign * sines[i];

        out_a[i] = x * cosines[i] - y * sine;
        out_b[i] = y * cosines[i] + x * sine;
    }
}

/* ---- SiLU */

#define SILU_BOUND 87.0f /* beyond it SiLU is 0 or x, to float32's precision */

/* exp(-x), for a bounded x; a NaN stays one */
INLINE vf exp_minus(vf x)
{
    return exp2_of(smaller(splat(SILU_BOUND), larger(splat(-SILU_BOUND), x)) * splat(-LOG2_E));
}

INLINE vf silu(vf x)
{
    return x / (splat(1) + exp_minus(x));
}

/* s + x s (1 - s), s = 1 / (1 + exp(-x)) */
INLINE vf silu_slope(vf x)
{
    const vf e = exp_minus(x), s = splat(1) / (splat(1) + e);

    return s + x * (s * (e * s));
}

void ISA_NAME(silu_forward)(float *out, const float *inp, size_t n)
{
    each(out, inp, n, silu);
}

void ISA_NAME(silu_backward)(float *d, const float *inp, size_t n)
{
    multiply_each(d, inp, n, silu_slope);
}

/* ---- the square of ReLU: a NaN stays one */

INLINE vf relu(vf x)
{
    return (vf)((vu)x & ~(vu)(x < 0));
}

INLINE vf relu2(vf x)
{
    return relu(x) * relu(x);
}

INLINE vf relu2_slope(vf x)
{
    return relu(x) + relu(x);
}

void ISA_NAME(relu2_forward)(float *out, const float *inp, size_t n)
{
    each(out, inp, n, relu2);
}

void ISA_NAME(relu2_backward)(float *d, const float *inp, size_t n)
{
    multiply_each(d, inp, n, relu2_slope);
}

/* ---- products of elements */

void ISA_NAME(multiply)(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] *= x[i];
}

void ISA_NAME(add_products)(float *restrict y, const float *a, const float *b, float scale, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += a[i] * b[i] * scale;
}
