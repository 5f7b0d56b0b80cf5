/*
 * linear: y = x W + b on the last dimension.
 *
 * N is the number of rows (B*T).  Any kind of operands (lib/nn/ops.h); in a pass in bf16 inp and the gradient
 * of y are bf16, and y and the gradient of inp bf16 or float32.
 * Reference: tg_linear_*_ref.  Tolerances: docs/numerics.md
 */
#ifndef TG_NN_LINEAR_H
#define TG_NN_LINEAR_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/matrix.h"
#include "lib/kernels/matmul.h"
#include "lib/kernels/packed_matrix.h"
#include "lib/nn/activation.h"
#include "lib/nn/low_rank.h"

/* The parameters, where their gradients are added, and how to compute the product. */
typedef struct tg_linear {
    const void *w;  /* [in,out], y = x W + b; or [out,in] when transposed */
    tg_type w_type; /* float32, or, except in double, bf16 */
    const float *b; /* [out]; NULL: none */
    float *dw, *db; /* like w and b; NULL: no such parameter, or its gradient is not wanted */
    bool overwrite; /* write dw and db, which may hold anything before, instead of adding to them */
    bool adds;      /* backward adds to dinp, to which other layers with the same input have contributed */
    size_t in, out;
    bool transposed;                /* y = x w^T + b, as for a token embedding [V,C] used as the head */
    tg_row_source rows;             /* those of a transposed w, which is then NULL; zeros: w is there.  dw is
                                     * not wanted, and there is no activation */
    const tg_packed_matrix *packed; /* the same matrix, packed for few rows; NULL: multiply with w */
    const tg_matmul_scratch *scratch; /* needed unless packed, or in double (lib/kernels/matmul.h) */
    tg_low_rank low_rank;             /* in w; zeros: w has none whose gradients are wanted */
} tg_linear;

/*
 * tg_linear_forward: out[n,o] = sum_i inp[n,i] W[i,o] + b[o] + add[n,o]
 *
 *   out   [N,out]  written
 *   add   [N,out]  read, or empty for none: the residual; may be out itself, but in double.  out is not bf16
 *   inp   [N,in]   read
 */
void tg_linear_forward(tg_matrix out, tg_matrix add, tg_matrix inp, const tg_linear *linear, size_t N);

/*
 * tg_linear_activation_forward: pre = inp W + b, out = act(pre)
 *
 *   out, pre  [N,out]  written, both of inp's type; out may be pre, which it then overwrites
 */
void tg_linear_activation_forward(tg_matrix out, tg_matrix pre, tg_matrix inp, const tg_linear *linear,
                                  tg_activation kind, size_t N);

/*
 * tg_linear_backward:
 *
 *   dinp[n,i]  = sum_o dout[n,o] W[i,o]        written, or added if linear->adds; empty: not wanted
 *   dw[i,o]   += sum_n inp[n,i] dout[n,o]      NULL: not wanted; inp is then not read
 *                                              (= if linear->overwrite, here and below)
 *   db[o]     += sum_n dout[n,o]               NULL: not wanted
 *   and the gradients of linear->low_rank (lib/nn/low_rank.h), for which inp is read
 *
 * dinp may be inp (it is written last); otherwise it overlaps neither inp nor dout.
 */
void tg_linear_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear, size_t N);

/*
 * tg_linear_after_activation_backward: the same for inp = act(pre), through the activation:
 *
 *   dpre[n,i]  = act'(pre[n,i]) sum_o dout[n,o] W[i,o]     written; may be inp
 */
void tg_linear_after_activation_backward(tg_matrix dpre, tg_matrix dout, tg_matrix inp, tg_matrix pre,
                                         const tg_linear *linear, tg_activation kind, size_t N);

/* db[c] += sum_n dout[n,c], n in order; float or bf16. */
void tg_bias_backward(float *db, tg_matrix dout, size_t N);

#endif
