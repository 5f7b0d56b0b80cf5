/*
 * gelu: the Gaussian error linear unit, in its two common forms.
 * Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
 */
#ifndef TG_NN_GELU_H
#define TG_NN_GELU_H

#include <stddef.h>

#include "lib/base/api.h"
#include "lib/nn/ref/gelu_kind.h"

TG_API_BEGIN

/*
 * tg_gelu_elements: the function that computes out[i] = gelu(inp[i]), in one thread.  A matrix
 * product calls it for each part of its result as soon as that is written (lib/nn/linear.h).
 *
 *   out  [n]  written; may equal inp
 *   inp  [n]  read
 */
typedef void (*tg_gelu_function)(float *out, const float *inp, size_t n);
tg_gelu_function tg_gelu_elements(tg_gelu_kind kind);

/*
 * tg_gelu_slope: out[i] = gelu(inp[i]), slope[i] = gelu'(inp[i]), for the backward pass, which
 * needs both; most of the work is common to them.
 *
 *   out, slope  [n]  written; slope may be inp, out overlaps neither
 *   inp         [n]  read
 */
void tg_gelu_slope(float *out, float *slope, const float *inp, size_t n, tg_gelu_kind kind);

/*
 * tg_gelu_backward: dinp[i] = dout[i] * slope[i].
 *
 *   dinp         [n]  written; may be dout
 *   dout, slope  [n]  read
 */
void tg_gelu_backward(float *dinp, const float *dout, const float *slope, size_t n);

TG_API_END

#endif
