/*
 * gated: out = act(gate) * up, act being GELU or SiLU: the middle of a gated MLP.
 *
 * N rows; matrices of one type, float, bf16 or double.
 * Source: Shazeer 2020, arXiv:2002.05202 (SwiGLU, GEGLU).  Reference: tg_gated_*_ref.
 */
#ifndef TG_NN_GATED_H
#define TG_NN_GATED_H

#include <stddef.h>

#include "lib/base/matrix.h"
#include "lib/nn/activation.h"

/* out may be gate or up. */
void tg_gated_forward(tg_matrix out, tg_matrix gate, tg_matrix up, tg_activation kind, size_t N);

/* dgate and dup are written; one of them may be dout, or its own input. */
void tg_gated_backward(tg_matrix dgate, tg_matrix dup, tg_matrix dout, tg_matrix gate, tg_matrix up,
                       tg_activation kind, size_t N);

#endif
