/*
 * residual: the end of a sublayer, which adds its result to the residual stream.
 *
 *   out = residual + drop(inp W + b)
 *
 * N rows.  Any kind of operands (lib/nn/ops.h); in a pass in bf16 inp, its gradient and scratch are bf16.
 */
#ifndef TG_NN_RESIDUAL_H
#define TG_NN_RESIDUAL_H

#include <stddef.h>

#include "lib/nn/dropout.h"
#include "lib/nn/linear.h"

/*
 *   out       [N,out]  written; may be residual, without dropout
 *   residual  [N,out]  read      inp  [N,in]  read
 */
void tg_residual_forward(tg_matrix out, tg_matrix residual, tg_matrix inp, const tg_linear *linear,
                         const tg_dropout *drop, size_t N);

/*
 * Adds to linear->dw and db; writes dinp [N,in], which may be inp; reads dout [N,out], which is
 * also the gradient of `residual`.  scratch [N,out] is used with dropout, and in bf16 always, where dout is
 * rounded to it.
 */
void tg_residual_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear,
                          const tg_dropout *drop, tg_matrix scratch, size_t N);

/* The same for inp = act(pre), to dpre, as tg_linear_after_activation_backward(). */
void tg_residual_after_activation_backward(tg_matrix dpre, tg_matrix dout, tg_matrix inp, tg_matrix pre,
                                           const tg_linear *linear, tg_activation kind,
                                           const tg_dropout *drop, tg_matrix scratch, size_t N);

#endif
