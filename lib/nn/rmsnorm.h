/*
 * rmsnorm: divide each C-vector by the root of its mean square, then scale.
 *
 *   rstd[n]  = 1/sqrt(mean over c of inp[n,c]^2 + epsilon)
 *   out[n,c] = inp[n,c] * rstd[n] * (offset + w[c])
 *
 * N rows.  Matrices carry their type: out and inp are float or bf16 each, or both double; rstd is as inp, but
 * float for bf16.  The sum of squares is taken in double precision.  C may be a part of a row: heads that are
 * normed one by one are N*H rows of D.
 *
 * Source: Zhang and Sennrich 2019, arXiv:1910.07467.  Reference: tg_rmsnorm_*_ref.
 * Tolerances: docs/numerics.md.
 */
#ifndef TG_NN_RMSNORM_H
#define TG_NN_RMSNORM_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/matrix.h"

/* The parameters, and where their gradients are added. */
typedef struct tg_rmsnorm {
    const float *w; /* [C]; NULL: gains of 1 */
    float *dw;    /* [C]; NULL: no such parameter, or its gradient is not wanted; NULL in double precision */
    float offset; /* 1 where a gain is stored as its difference from 1, else 0 */
    size_t C;
    double epsilon; /* added to the mean square; rounded to float first, as files have it */
} tg_rmsnorm;

/* Channel c's gain. */
static inline double tg_rmsnorm_gain(const tg_rmsnorm *norm, size_t c)
{
    return norm->w ? (double)norm->offset + (double)norm->w[c] : 1;
}

/* out [N,C] and rstd [N,1] are written; out may be inp. */
void tg_rmsnorm_forward(tg_matrix out, tg_matrix rstd, tg_matrix inp, const tg_rmsnorm *norm, size_t N);

/* The same with rstd as forward has written it. */
void tg_rmsnorm_recompute(tg_matrix out, tg_matrix rstd, tg_matrix inp, const tg_rmsnorm *norm, size_t N);

/* dinp [N,C] is written, or added to; adds to norm->dw.  dinp overlaps no other. */
void tg_rmsnorm_backward(tg_matrix dinp, bool adds, tg_matrix dout, tg_matrix rstd, tg_matrix inp,
                         const tg_rmsnorm *norm, size_t N);

#endif
