/*
 * gelu: the Gaussian error linear unit, in its two common forms.
 * Source: Hendrycks & Gimpel 2016, arXiv:1606.08415.
 */
#ifndef TG_NN_GELU_H
#define TG_NN_GELU_H

#include <stddef.h>

#include "lib/base/api.h"
#include "lib/base/matrix.h"
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

/* The function that computes d[i] *= gelu'(inp[i]), which a product calls likewise. */
tg_gelu_function tg_gelu_gradient_elements(tg_gelu_kind kind);

/* tg_gelu_forward: out = gelu(inp), N rows, both of one type; out may be inp. */
void tg_gelu_forward(tg_matrix out, tg_matrix inp, size_t N, tg_gelu_kind kind);

TG_API_END

#endif
