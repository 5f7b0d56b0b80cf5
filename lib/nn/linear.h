/*
 * linear: y = x W + b on the last dimension.
 *
 * Weights are [in,out].  N is the number of rows (B*T).  Row-major, contiguous,
 * float32.  scratch: see lib/kernels/matmul.h.
 * Reference: tg_linear_*_ref.  Tolerances: docs/numerics.md
 */
#ifndef TG_NN_LINEAR_H
#define TG_NN_LINEAR_H

#include <stddef.h>

#include "lib/kernels/matmul.h"
#include "lib/nn/gelu.h"

/*
 * tg_linear_forward: out[n,o] = sum_i inp[n,i] w[i,o] + bias[o] + add[n,o]
 *
 *   out   [N,out]  written
 *   inp   [N,in]   read       w  [in,out]  read
 *   bias  [out]    read, or NULL for none
 *   add   [N,out]  read, or NULL for none: the residual; may be out itself
 */
void tg_linear_forward(float *out, const float *inp, const float *w, const float *bias, const float *add,
                       size_t N, size_t in, size_t out_width, const tg_matmul_scratch *scratch);

/*
 * tg_linear_gelu_forward: pre = inp w + bias, out = gelu(pre)
 *
 *   out, pre  [N,out]  written; out may be pre, of which then nothing is left
 */
void tg_linear_gelu_forward(float *out, float *pre, const float *inp, const float *w, const float *bias,
                            size_t N, size_t in, size_t out_width, tg_gelu_kind kind,
                            const tg_matmul_scratch *scratch);

/*
 * tg_linear_backward:
 *
 *   dinp[n,i]  = sum_o dout[n,o] w[i,o]        written; NULL: not wanted
 *   dw[i,o]   += sum_n inp[n,i] dout[n,o]
 *   dbias[o]  += sum_n dout[n,o]               NULL for none
 *
 * dinp may be inp (it is written last), else overlaps neither it nor dout.
 */
void tg_linear_backward(float *dinp, float *dw, float *dbias, const float *dout, const float *inp,
                        const float *w, size_t N, size_t in, size_t out_width,
                        const tg_matmul_scratch *scratch);

/* db[c] += sum_n dout[n,c], n in order.  dout has row stride ld >= width. */
void tg_bias_backward(float *db, const float *dout, size_t ld, size_t N, size_t width);

#endif
