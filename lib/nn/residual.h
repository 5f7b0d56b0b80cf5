/*
 * residual: the end of a sublayer, whose result is added to the residual stream.
 *
 *   out = residual + drop(inp W + b)
 *
 * N rows; scratch [N,out] is used only with dropout.  Row-major, contiguous, float32.
 */
#ifndef TG_NN_RESIDUAL_H
#define TG_NN_RESIDUAL_H

#include <stddef.h>

#include "lib/nn/dropout.h"
#include "lib/nn/linear.h"

/*
 *   out       [N,out]  written; may be residual
 *   residual  [N,out]  read      inp  [N,in]  read
 */
void tg_residual_forward(float *out, const float *residual, const float *inp, const tg_linear *linear,
                         const tg_dropout *drop, float *scratch, size_t N);

/*
 * Adds into linear->dw and db, writes dinp [N,in], which may be inp.  dout [N,out] is read: it is
 * the gradient of residual, too.
 */
void tg_residual_backward(float *dinp, const float *dout, const float *inp, const tg_linear *linear,
                          const tg_dropout *drop, float *scratch, size_t N);

#endif
