/* Element-wise and row-wise kernels: see kernels.h and, for the equations, the
 * references in lib/nn/ref/. */
#include <math.h>

#include "lib/base/convert.h"
#include "lib/kernels/isa/vectors16.h"
#include "lib/kernels/isa/elements.h"
#include "lib/kernels/isa/exp2.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/isa/kernels_isa.h"

/* Independent partial sums of a reduction, enough to hide the latency of an addition. */
#define LANES 4

/* ---- GELU, tanh form */

/*
 * With u = sqrt(2/pi) (x + 0.044715 x^3) and e = exp(-2u), (1 + tanh u) / 2 = 1 / (1 + e).  So
 *
 *     gelu(x)  = x / (1 + e)
 *     gelu'(x) = 1 / (1 + e) + x e / (1 + e)^2 * 2 du/dx
 */
#define GELU_SCALE 1.59576912160573071176f /* 2 sqrt(2/pi) */
#define GELU_CUBE 0.044715f

/* Beyond these, where e is 2^122 and 2^-122, GELU is 0 and x to float32's precision. */
#define GELU_BOUND 9.9f

/* A NaN stays one. */
INLINE vf not_below(vf x)
{
    return larger(splat(-GELU_BOUND), x);
}

INLINE vf bounded(vf x)
{
    return smaller(splat(GELU_BOUND), not_below(x));
}

/* e, for a bounded x */
INLINE vf gelu_exp(vf x)
{
    const float one = GELU_SCALE * LOG2_E, cube = one * GELU_CUBE;

    return exp2_of(x * -(splat(one) + splat(cube) * (x * x)));
}

INLINE vf gelu(vf x)
{
    return not_below(x) / (splat(1) + gelu_exp(bounded(x)));
}

INLINE vf gelu_slope(vf any)
{
    const vf x = bounded(any), e = gelu_exp(x), part = splat(1) / (splat(1) + e);
    const vf two_du = splat(GELU_SCALE) + splat(3 * GELU_SCALE * GELU_CUBE) * (x * x);

    return part + part * (e * part) * (x * two_du);
}

void ISA_NAME(gelu_tanh_forward)(float *out, const float *inp, size_t n)
{
    each(out, inp, n, gelu);
}

void ISA_NAME(gelu_tanh_backward)(float *d, const float *inp, size_t n)
{
    multiply_each(d, inp, n, gelu_slope);
}

/* ---- a soft bound */

void ISA_NAME(softcap_forward)(float *x, float cap, size_t n)
{
    cap_each(x, cap, n);
}

void ISA_NAME(softcap_backward)(float *d, const float *y, float cap, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float t = y[i] / cap;

        d[i] *= 1 - t * t;
    }
}

/* ---- sums over a row */

static float sum(const float *x, size_t n)
{
    vf part[LANES] = {0};
    float rest = 0;
    size_t i = 0;

    for (; i + LANES * VL <= n; i += LANES * VL)
        for (size_t l = 0; l < LANES; l++)
            part[l] += load(x + i + l * VL);
    for (; i < n; i++)
        rest += x[i];
    return sum_lanes((part[0] + part[1]) + (part[2] + part[3])) + rest;
}

/* sum (x - mean)^2 */
static float sum_deviations(const float *x, float mean, size_t n)
{
    vf part[LANES] = {0};
    float rest = 0;
    size_t i = 0;

    for (; i + LANES * VL <= n; i += LANES * VL)
        for (size_t l = 0; l < LANES; l++) {
            vf d = load(x + i + l * VL) - splat(mean);

            part[l] += d * d;
        }
    for (; i < n; i++)
        rest += (x[i] - mean) * (x[i] - mean);
    return sum_lanes((part[0] + part[1]) + (part[2] + part[3])) + rest;
}

double ISA_NAME(sum_squares)(const float *x, size_t n)
{
    double part[16] = {0};
    double total = 0;
    size_t i = 0;

    for (; i + 16 <= n; i += 16)
        for (size_t l = 0; l < 16; l++)
            part[l] += (double)x[i + l] * (double)x[i + l];
    for (; i < n; i++)
        part[0] += (double)x[i] * (double)x[i];
    for (size_t l = 0; l < 16; l++)
        total += part[l];
    return total;
}

/* ---- LayerNorm */

void ISA_NAME(layernorm_apply)(float *out, float mean, float rstd, const float *inp, const float *w,
                               const float *b, size_t C)
{
    if (w && b) { /* by itself: gain and bias are then one multiply-add, rounded once */
        for (size_t c = 0; c < C; c++)
            out[c] = (inp[c] - mean) * rstd * w[c] + b[c];
        return;
    }
    for (size_t c = 0; c < C; c++)
        out[c] = (inp[c] - mean) * rstd;
    if (w)
        for (size_t c = 0; c < C; c++)
            out[c] *= w[c];
    if (b)
        for (size_t c = 0; c < C; c++)
            out[c] += b[c];
}

void ISA_NAME(layernorm_stats)(float *mean, float *rstd, const float *inp, size_t C, float epsilon)
{
    float m = sum(inp, C) / (float)C;
    float variance = sum_deviations(inp, m, C) / (float)C;

    *mean = m;
    *rstd = (float)(1 / sqrt((double)variance + (double)epsilon)); /* its error would be all of the row's */
}

void ISA_NAME(layernorm_row_backward)(float *dinp, const float *dout, const float *inp, float mean,
                                      float rstd, const float *w, size_t C)
{
    vf sums = {0}, sums_norm = {0};
    float mean_d, mean_dn, rest = 0, rest_norm = 0;
    size_t c = 0;

    /* d = dout * w is the gradient of the normalised row.  Its mean, and its mean weighted
     * with that row, are subtracted. */
    for (; c + VL <= C; c += VL) {
        vf d = load(dout + c);

        if (w)
            d *= load(w + c);
        sums += d;
        sums_norm += d * (load(inp + c) - splat(mean)) * splat(rstd);
    }
    for (; c < C; c++) {
        float d = dout[c] * (w ? w[c] : 1.0f);

        rest += d;
        rest_norm += d * (inp[c] - mean) * rstd;
    }
    mean_d = (sum_lanes(sums) + rest) / (float)C;
    mean_dn = (sum_lanes(sums_norm) + rest_norm) / (float)C;
    for (c = 0; c < C; c++) {
        float d = dout[c] * (w ? w[c] : 1.0f);
        float norm = (inp[c] - mean) * rstd;

        dinp[c] += (d - mean_d - norm * mean_dn) * rstd;
    }
}

/* dw and db of `vectors` vectors of columns, whose sums stay in registers. */
INLINE void columns_backward(float *dw, float *db, const float *dout, const float *inp,
                             const tg_row_range *rows, const size_t vectors)
{
    vf sums[LANES], sums_norm[LANES];

    for (size_t v = 0; v < vectors; v++)
        sums[v] = sums_norm[v] = (vf){0};
    for (size_t n = 0; n < rows->n; n++, dout += rows->ld, inp += rows->ld) {
        const vf mean = splat(rows->mean[n]), rstd = splat(rows->rstd[n]);

        for (size_t v = 0; v < vectors; v++) {
            const vf d = load(dout + v * VL);

            sums[v] += d;
            sums_norm[v] += d * (load(inp + v * VL) - mean) * rstd;
        }
    }
    for (size_t v = 0; v < vectors; v++) {
        if (db)
            store(db + v * VL, load(db + v * VL) + sums[v]);
        if (dw)
            store(dw + v * VL, load(dw + v * VL) + sums_norm[v]);
    }
}

void ISA_NAME(layernorm_columns_backward)(float *dw, float *db, const float *dout, const float *inp,
                                          const tg_row_range *rows, size_t n)
{
    size_t c = 0;

    for (; c + LANES * VL <= n; c += LANES * VL)
        columns_backward(dw ? dw + c : NULL, db ? db + c : NULL, dout + c, inp + c, rows, LANES);
    for (; c + VL <= n; c += VL)
        columns_backward(dw ? dw + c : NULL, db ? db + c : NULL, dout + c, inp + c, rows, 1);
    for (; c < n; c++) {
        float sum = 0, sum_norm = 0;

        for (size_t r = 0; r < rows->n; r++) {
            const float d = dout[r * rows->ld + c];

            sum += d;
            sum_norm += d * (inp[r * rows->ld + c] - rows->mean[r]) * rows->rstd[r];
        }
        if (db)
            db[c] += sum;
        if (dw)
            dw[c] += sum_norm;
    }
}

/* ---- softmax */

static float maximum(const float *x, size_t n)
{
    float lane[16], max = x[0];
    size_t i = 0;

    for (size_t l = 0; l < 16; l++)
        lane[l] = x[0];
    for (; i + 16 <= n; i += 16)
        for (size_t l = 0; l < 16; l++)
            lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
    for (; i < n; i++)
        max = x[i] > max ? x[i] : max;
    for (size_t l = 0; l < 16; l++)
        max = lane[l] > max ? lane[l] : max;
    return max;
}

/* out = exp(x - max); returns the sum. */
static float exponentials(float *out, const float *x, float max, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = exp_f32(x[i] - max);
    return sum(out, n);
}

void ISA_NAME(softmax_row)(float *probs, const float *scores, size_t n)
{
    float total = exponentials(probs, scores, maximum(scores, n), n);
    float scale = 1.0f / total;

    for (size_t i = 0; i < n; i++)
        probs[i] *= scale;
}

float ISA_NAME(crossentropy_row)(float *logits, size_t n, size_t target, float scale)
{
    float max = maximum(logits, n), at_target = logits[target];
    float total = exponentials(logits, logits, max, n);
    float factor = scale / total;

    if (scale != 0) {
        for (size_t i = 0; i < n; i++)
            logits[i] *= factor;
        logits[target] -= scale;
    }
    return logf(total) + max - at_target;
}

/* ---- sums of vectors */

void ISA_NAME(add)(float *y, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        y[i] += x[i];
}

void ISA_NAME(add_rows)(float *y, const float *x, size_t ld, size_t rows, size_t n)
{
    for (size_t r = 0; r < rows; r++)
        ISA_NAME(add)(y, x + r * ld, n);
}

/* ---- bf16 */

void ISA_NAME(widen)(float *out, const tg_bf16 *x, size_t n)
{
    widen_row(out, x, n);
}

/* In ascending order: each load is beyond what has been stored. */
void ISA_NAME(round16)(tg_bf16 *out, const float *x, size_t n)
{
    round_row(out, x, n);
}

/* By VL columns, whose sums stay in a register. */
void ISA_NAME(add_rows16)(float *y, const tg_bf16 *x, size_t ld, size_t rows, size_t n)
{
    size_t c = 0;

    for (; c + VL <= n; c += VL) {
        vf sums = load(y + c);

        for (size_t r = 0; r < rows; r++)
            sums += load_bf16(x + r * ld + c);
        store(y + c, sums);
    }
    for (; c < n; c++)
        for (size_t r = 0; r < rows; r++)
            y[c] += tg_float_from_bf16(x[r * ld + c]);
}

/* ---- AdamW */

void ISA_NAME(adamw)(float *restrict w, float *restrict m, float *restrict v, const float *restrict g,
                     size_t n, const tg_adamw_step *step)
{
    const tg_adamw_step s = *step;
    const float shrink = 1.0f - s.learning_rate * s.weight_decay;

    for (size_t i = 0; i < n; i++) {
        float g_i = g[i] * s.grad_scale;
        float m_i = s.beta1 * m[i] + s.gain1 * g_i;
        float v_i = s.beta2 * v[i] + s.gain2 * g_i * g_i;

        m[i] = m_i;
        v[i] = v_i;
        w[i] = shrink * w[i] -
               s.learning_rate * (m_i / s.correction1) / (sqrtf(v_i / s.correction2) + s.epsilon);
    }
}
