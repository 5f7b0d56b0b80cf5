/*
 * layernorm: normalise each C-vector, then scale and shift.
 *
 *   out[n,c] = (inp[n,c] - mean[n]) * rstd[n] * w[c] + b[c]
 *
 * N rows (B*T).  N, C >= 1.  Any kind of operands (lib/nn/ops.h); in a pass in bf16 out alone is bf16.
 * Source: Ba et al. 2016, arXiv:1607.06450.  Reference: tg_layernorm_*_ref.
 * Tolerances: docs/numerics.md
 */
#ifndef TG_NN_LAYERNORM_H
#define TG_NN_LAYERNORM_H

#include <stddef.h>

#include "lib/base/matrix.h"

/* The parameters, and where their gradients are added. */
typedef struct tg_layernorm {
    const float *w, *b; /* [C] gains and biases; NULL: none */
    float *dw, *db;     /* [C]; NULL: no such parameter, or its gradient is not wanted */
    size_t C;
    double epsilon; /* added to the variance */
} tg_layernorm;

/* Per row: its mean, and 1/sqrt(var + epsilon), var biased. */
typedef struct tg_norm_stats {
    tg_matrix mean, rstd; /* [N,1], of the type of the operation's input */
} tg_norm_stats;

/*
 * tg_layernorm_forward
 *
 *   out    [N,C]  written; may equal inp
 *   stats  [N]    written; saved for backward
 *   inp    [N,C]  read
 */
void tg_layernorm_forward(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm,
                          size_t N);

/* The same output, recomputed from the saved stats. */
void tg_layernorm_recompute(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm,
                            size_t N);

/* tg_layernorm_backward: adds to dinp [N,C], norm->dw and norm->db; reads dout, inp [N,C], stats. */
void tg_layernorm_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, tg_norm_stats stats,
                           const tg_layernorm *norm, size_t N);

#endif
