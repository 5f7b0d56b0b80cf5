/*
 * activation: GELU in its two common forms, SiLU, and the square of ReLU.
 * Sources: Hendrycks & Gimpel 2016, arXiv:1606.08415; Elfwing et al. 2017, arXiv:1702.03118; So et al. 2021,
 * arXiv:2109.08668.
 */
#ifndef TG_NN_ACTIVATION_H
#define TG_NN_ACTIVATION_H

#include <stddef.h>

#include "lib/base/matrix.h"
#include "lib/nn/ref/activation.h"

/*
 * The function that computes out[i] = act(inp[i]), in one thread.  A matrix product calls it for each part of
 * its result as soon as that is written (lib/nn/linear.h).
 *
 *   out  [n]  written; may equal inp
 *   inp  [n]  read
 */
typedef void (*tg_activation_function)(float *out, const float *inp, size_t n);
tg_activation_function tg_activation_elements(tg_activation kind);

/* The function that computes d[i] *= act'(inp[i]), which a product calls likewise. */
tg_activation_function tg_activation_gradient_elements(tg_activation kind);

/* out = act(inp), N rows, both of one type; out may be inp. */
void tg_activation_forward(tg_matrix out, tg_matrix inp, size_t N, tg_activation kind);

#endif
