/*
 * softmax on the last dimension.
 *
 *   out[n,i] = exp(inp[n,i] - max) / sum_m exp(inp[n,m] - max)
 *
 *   out  [N,W]  written; may equal inp      inp  [N,W]  read, finite
 *
 * Reference: tg_softmax_*_ref.
 */
#ifndef TG_NN_SOFTMAX_H
#define TG_NN_SOFTMAX_H

#include <stddef.h>

void tg_softmax_forward(float *out, const float *inp, size_t N, size_t W);

/* dinp[n,i] = out[n,i] * (dout[n,i] - sum_m dout[n,m] out[n,m]); dinp may equal dout. */
void tg_softmax_backward(float *dinp, const float *dout, const float *out, size_t N, size_t W);

#endif
