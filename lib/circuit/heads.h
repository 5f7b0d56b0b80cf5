/*
 * heads: what a head does, in a few numbers, from its factors (lib/circuit/factors.h).
 *
 *     ov_norm     ||W_V W_O||, Frobenius
 *     qk_norm     ||W_Q W_K^T||
 *     copying     sum Re l / sum |l| over the eigenvalues l of E W_V W_O U [V,V]
 *                 1: attention to a token makes it more probable, -1: less
 *     positive    the share of sum |l| of those eigenvalues with Re l > 0
 *     duplicate   sum Re l / sum |l| over the eigenvalues l of E W_Q W_K^T E^T [V,V]
 *                 1: a token prefers keys that hold it as well
 *     previous    mean of p[i,i-1] over the queries i > 0, of a model that learns positions
 *     diagonal    mean of p[i,i], of the same
 *
 * p = softmax over j <= i of the scores of x_i = wpe_i / rms and x_j, as if there were no tokens; the rms is
 * that of the norm before attention, the scale that of the model's scores.  E and U: lib/circuit/vocab.h.
 *
 * Eigenvalues of a V x V matrix of rank D, other than 0, are those of the D x D matrix with the factors in
 * another order: W_O (U E) W_V, and W_K^T (E^T E) W_Q.
 *
 * Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", for copying.
 */
#ifndef TG_CIRCUIT_HEADS_H
#define TG_CIRCUIT_HEADS_H

#include <stdbool.h>

#include "lib/base/arena.h"
#include "lib/circuit/factors.h"
#include "lib/circuit/vocab.h"

typedef struct tg_head_numbers {
    double ov_norm, qk_norm;
    double copying, positive, duplicate; /* NaN: all eigenvalues are 0, or steps did not converge */
    double previous, diagonal;           /* NaN: no positions are learned, or there is only one */
} tg_head_numbers;

typedef struct tg_heads_scratch {
    double *matrix;  /* [H,5,D,D] */
    double *through; /* [H,C,D] */
    double *re, *im; /* [H,D] */
    double *rstd;    /* [T] of the positions */
    double *q, *k;   /* [H,T,D] */
    double *scores;  /* [H] of some queries */
    size_t T;        /* 0: no positions are learned */
} tg_heads_scratch;
void tg_heads_scratch_place(tg_arena *arena, tg_heads_scratch *s, const tg_model *model);

/* Those of a layer's heads [H], shared among threads. */
void tg_heads_of_layer(tg_head_numbers *out, const tg_factors *f, const tg_vocab_grams *vocab,
                       const tg_model *model, tg_heads_scratch *s);

/* out [D,D] = a^T b for a, b [n,D]; or a b^T for a, b [D,n]. */
void tg_gram_columns(double *out, const double *a, const double *b, size_t n, size_t D);
void tg_gram_rows(double *out, const double *a, const double *b, size_t n, size_t D);

/* ||x y|| for the grams x^T x and y y^T [D,D] of its factors: the root of the trace of their product. */
double tg_gram_norm(const double *x, const double *y, size_t D);

#endif
