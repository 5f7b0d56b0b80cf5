/*
 * factors: the matrices of a layer's heads, of rank D, from the weights alone.
 *
 * A row x of the residual stream, C channels, is what all of it reads and writes.  Of a head
 *
 *     score(x, y) ~ x W_Q W_K^T y^T     QK, [C,C] of rank D: x asks, y answers
 *     written(y)  ~ y W_V W_O           OV, [C,C] of rank D: what attention to y adds to the stream
 *
 * which is all that is linear in the head.  Parts of these matrices are
 *
 *     norm before attention   in W_Q, W_K, W_V, each P diag(g) W: its gains g, with their offset, and P
 *                             P = I - 1 1^T / C for LayerNorm, which subtracts the mean; else I
 *     norms of q and k        in W_Q, W_K: their gains
 *     norm after attention    in W_O: its gains
 *
 * Left out are
 *
 *     norms                   their scales, 1/rms
 *     layers                  their biases
 *     scores                  their scale, 1/sqrt(D), caps and windows
 *     rotation                query and key are at the same position
 *
 * Where keys are grouped, H/KV heads of queries share W_K and W_V.
 *
 * Vectors are rows, as everywhere in tg.  Elhage et al. have columns: their W_OV is the transpose of W_V W_O,
 * and their W_QK = W_Q^T W_K is of the same form with transposed factors.
 *
 * Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits".
 */
#ifndef TG_CIRCUIT_FACTORS_H
#define TG_CIRCUIT_FACTORS_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/gpt/model.h"
#include "lib/nn/rmsnorm.h"

typedef struct tg_factors {
    size_t H, KV, C, D;
    double *q, *k, *v; /* [H,C,D], [KV,C,D], [KV,C,D] */
    double *o;         /* [H,D,C] */
} tg_factors;

/* Place those of one layer (lib/base/arena.h), and compute them. */
void tg_factors_place(tg_arena *arena, tg_factors *f, const tg_config *config);
void tg_factors_set(tg_factors *f, const tg_model *model, size_t layer);

static inline const double *tg_factors_q(const tg_factors *f, size_t h)
{
    return f->q + h * f->C * f->D;
}
static inline const double *tg_factors_k(const tg_factors *f, size_t h)
{
    return f->k + h / (f->H / f->KV) * f->C * f->D;
}
static inline const double *tg_factors_v(const tg_factors *f, size_t h)
{
    return f->v + h / (f->H / f->KV) * f->C * f->D;
}
static inline const double *tg_factors_o(const tg_factors *f, size_t h)
{
    return f->o + h * f->D * f->C;
}

/* Whether the model's norms subtract the mean. */
bool tg_factors_centred(const tg_config *config);

/* P x for the columns of x [C,n]: subtract from each its mean. */
void tg_factors_centre(double *x, size_t C, size_t n);

#endif
