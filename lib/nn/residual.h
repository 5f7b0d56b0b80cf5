/*
 * residual: the end of a sublayer, which adds its result to the residual stream.
 *
 *   out = residual + drop(inp W + b)
 *
 * N rows.  Row-major, contiguous, float32.
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
void tg_residual_forward(float *out, const float *residual, const float *inp, const tg_linear *linear,
                         const tg_dropout *drop, size_t N);

/*
 * Adds to linear->dw and db; writes dinp [N,in], which may be inp; reads dout [N,out], which is
 * also the gradient of `residual`.  scratch [N,out] is used only with dropout (in bf16 always: ops16.h).
 */
void tg_residual_backward(float *dinp, const float *dout, const float *inp, const tg_linear *linear,
                          const tg_dropout *drop, float *scratch, size_t N);

/* The same for inp = gelu(pre), to dpre, as tg_linear_after_gelu_backward(). */
void tg_residual_after_gelu_backward(float *dpre, const float *dout, const float *inp, const float *pre,
                                     const tg_linear *linear, tg_gelu_kind kind, const tg_dropout *drop,
                                     float *scratch, size_t N);

#endif
