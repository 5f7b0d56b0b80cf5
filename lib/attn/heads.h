/*
 * heads: what an attention head is like, in a few numbers.
 *
 * Each is a mean over rows; a row is the probabilities p [i+1] of a query i >= 1 over
 * the keys j <= i.  Query 0 sees itself alone, in every head, and is left out.
 *
 *     entropy    - sum of p_j ln p_j       0: one key has it all; ln(i+1): all alike; nats
 *     distance   sum of p_j (i - j)        in tokens
 *     diagonal   p_i                       previous   p_(i-1)       first   p_0
 *     induction  sum of p_j over 1 <= j < i with ids[j-1] = ids[i]: what comes behind
 *                earlier tokens like this one; a mean over the rows that have such a j
 *
 * j = i is no place for induction, though token i-1 may be like token i: what a query
 * gives itself is the diagonal's.  Source: Olsson et al. 2022, arXiv:2209.11895.
 *
 * The most attended pair is i, j < i with the greatest
 *
 *     p_j ln(p_j (i+1))                    what j contributes to ln(i+1) - entropy
 *
 * and not the greatest p_j alone, which would go to the first few queries, that have
 * hardly a choice.  The first of equals.
 */
#ifndef TG_ATTN_HEADS_H
#define TG_ATTN_HEADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/attn/layers.h"

typedef struct tg_heads_row {
    double entropy, distance, diagonal, previous, first;
    bool repeats; /* there is a place for */
    double induction;
} tg_heads_row;

typedef struct tg_heads_pair {
    bool found;
    size_t i, j;
    double prob;
    double weight; /* p ln(p (i+1)) */
} tg_heads_pair;

/* Sums over rows, which tg_heads_means() turns into means. */
typedef struct tg_heads_sum {
    size_t rows;    /* that were added */
    size_t repeats; /* those of them that count for induction */
    tg_heads_row sum;
    tg_heads_pair pair;
} tg_heads_sum;

/* ---- of a row p [i+1], i >= 1; ids [i+1], or NULL where there are no tokens */

double tg_heads_entropy(const double *p, size_t i);
double tg_heads_distance(const double *p, size_t i);
bool tg_heads_induction(double *share, const double *p, size_t i, const int32_t *ids); /* false: no such j */
tg_heads_pair tg_heads_best_pair(const double *p, size_t i);

/* ---- of many */

/* Add a row to a head that began zeroed; i = 0 is passed over. */
void tg_heads_add(tg_heads_sum *head, const double *p, size_t i, const int32_t *ids);

/* The means; all 0 without a row.  `repeats` says whether there is an induction. */
tg_heads_row tg_heads_means(const tg_heads_sum *head);

/* What a head would be that looks at all keys alike: the queries as picked of T tokens.
 * row [T] is scratch. */
void tg_heads_uniform(tg_heads_sum *head, double *row, size_t T, const int32_t *ids,
                      const tg_attn_pick *pick);

/* ---- of a model, or of arrays */

typedef struct tg_heads_work {
    tg_attn_work *each; /* [threads] */
    size_t threads;
} tg_heads_work;
void tg_heads_place(tg_arena *arena, tg_heads_work *work, size_t T, size_t D);

/*
 * A layer's heads [B,H], written where pick->head wants them, from the queries that it
 * wants.  Every head is one thread's work from start to end.  No [T,T] is stored.
 * TG_EDATA, with the place, when a score or probability is not finite.
 */
TG_MUST_CHECK tg_status tg_heads_of_layer(tg_heads_sum *heads, const tg_attn_layer *layer, const int32_t *ids,
                                          const tg_attn_pick *pick, const tg_heads_work *work, tg_err *err);

#endif
