/*
 * compose: how strongly a head reads what a head of an earlier layer writes.
 *
 *     q   ||A W_Q W_K^T|| / (||A|| ||W_Q W_K^T||)
 *     k   ||A W_K W_Q^T|| / (||A|| ||W_Q W_K^T||)
 *     v   ||A W_V W_O||   / (||A|| ||W_V W_O||)
 *
 * with A = W_V W_O of the earlier head, all others of the later one, and Frobenius norms.
 *
 * The score is 1 at most, and 0 if the later head does not see what the earlier one writes.  For matrices
 * whose directions in the residual stream are random, the mean of its square is 1 / C, whatever their sizes
 * and ranks: the baseline is 1 / sqrt(C).
 *
 * Computed as ||A B||^2 = <A^T A, B B^T>, the sum of products of the elements of two [C,C] matrices, which
 * each head makes once for all pairs; in blocks, so that memory does not grow with C^2.  In double precision
 * the square's error is about 1e-15, so that a score of exactly 0 may be printed as 1e-8.
 *
 * Source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits", composition scores.
 */
#ifndef TG_CIRCUIT_COMPOSE_H
#define TG_CIRCUIT_COMPOSE_H

#include <stdbool.h>

#include "lib/base/arena.h"
#include "lib/base/watch.h"
#include "lib/circuit/factors.h"

typedef enum tg_composition { TG_COMPOSE_Q, TG_COMPOSE_K, TG_COMPOSE_V, TG_COMPOSITIONS } tg_composition;
#define TG_COMPOSITION_NAMES "q|k|v"

typedef struct tg_compose {
    size_t L, H, N, C, D;           /* N = L H heads, that of layer l and number h is l H + h */
    tg_factors *layer;              /* [L] */
    double *score[TG_COMPOSITIONS]; /* [N,N] from, to: of heads in an earlier and a later layer; NaN: a norm
                                       is 0 */
    double *ov_norm, *qk_norm;      /* [N] */
    double *gram[4];                /* [N,D,D] of W_V, W_O, W_Q, W_K: with themselves, over C */
    double *panel[4];               /* [N,D,columns] scratch */
    double *block[4];               /* [N,rows,columns] scratch */
} tg_compose;
void tg_compose_place(tg_arena *arena, tg_compose *c, const tg_config *config);

/* Fill the scores.  False: the watch has abandoned it. */
bool tg_compose_run(tg_compose *c, const tg_model *model, const tg_watch *watch);

/* 1 / sqrt(C) */
double tg_compose_baseline(const tg_config *config);

#endif
