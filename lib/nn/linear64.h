/*
 * linear64: linear layers in double precision (lib/nn/linear.h), with the bits of tg_linear_*_ref64 where W
 * is finite: ten to thirty times as fast as that where W exceeds the cache.
 */
#ifndef TG_NN_LINEAR64_H
#define TG_NN_LINEAR64_H

#include <stddef.h>

#include "lib/nn/linear.h"

/* add is not out, or NULL */
void tg_linear64_forward(double *out, const double *add, const double *inp, const tg_linear *linear,
                         size_t N);

/* The gradient of the input alone: dw and db must be NULL. */
void tg_linear64_backward(double *dinp, const double *dout, const tg_linear *linear, size_t N);

#endif
