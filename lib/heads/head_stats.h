/*
 * head_stats: an attention head's behaviour, in a few numbers.
 *
 * Each number is a mean over rows.  A row is the probabilities p [i+1] of a query i >= 1 over the
 * keys j <= i; query 0 sees only itself, in every head, and is left out.  Where a window hides keys, `first`
 * is the first that is seen, and n = i+1 - first of them are; p is 0 before it.
 *
 *     entropy    - sum of p_j ln p_j       in nats: 0 if one key has all of p, ln n if all are equal
 *     distance   sum of p_j (i - j)        in tokens
 *     diagonal   p_i                       previous   p_(i-1)       first   p_0
 *     induction  sum of p_j over 1 <= j < i with ids[j-1] = ids[i]: attention to the tokens that
 *                follow earlier copies of token i; a mean over the rows that see such a j
 *
 *     duplicate  sum of p_j over j < i with ids[j] = ids[i]: attention to earlier copies of token i; a mean
 *                over the rows that see one
 *
 * j = i does not count for induction, even if token i-1 equals token i: attention of a query to
 * itself is the diagonal.  Source: Olsson et al. 2022, arXiv:2209.11895.
 *
 * The most attended pair is the i, j < i with the greatest
 *
 *     p_j ln(p_j n)                        what j adds to ln n - entropy
 *
 * or the first of equals.  The greatest p_j alone would belong to one of the first
 * few queries, which have few keys to choose from.
 */
#ifndef TG_HEADS_HEAD_STATS_H
#define TG_HEADS_HEAD_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/attn/layers.h"

typedef struct tg_head_means {
    double entropy, distance, diagonal, previous, first;
    bool repeats; /* `induction` has a value */
    bool copies;  /* `duplicate` has a value */
    double induction, duplicate;
} tg_head_means;

typedef struct tg_head_pair {
    bool exists;
    size_t i, j;
    double prob;
    double weight; /* p ln(p n) */
} tg_head_pair;

/* Sums over rows, from which tg_head_stats_means() computes means. */
typedef struct tg_head_stats {
    size_t rows;    /* added */
    size_t repeats; /* of them, those that count for induction, */
    size_t copies;  /* and those that count for duplicate */
    tg_head_means sum;
    tg_head_pair pair;
} tg_head_stats;

/* ---- of one row p [i+1], i >= 1; ids [i+1], or NULL without tokens */

double tg_head_stats_entropy(const double *p, size_t i);
double tg_head_stats_distance(const double *p, size_t i);
bool tg_head_stats_induction(double *sum, const double *p, size_t first, size_t i,
                             const int32_t *ids); /* false: no such j */
bool tg_head_stats_duplicate(double *sum, const double *p, size_t first, size_t i,
                             const int32_t *ids); /* likewise */
tg_head_pair tg_head_stats_best_pair(const double *p, size_t first, size_t i);

/* ---- of many rows */

/* Add a row; *head is zeroed before the first.  i = 0 adds nothing. */
void tg_head_stats_add(tg_head_stats *head, const double *p, size_t first, size_t i, const int32_t *ids);

/* Add the rows of another text. */
void tg_head_stats_merge(tg_head_stats *head, const tg_head_stats *other);

/* The means; all 0 without rows. */
tg_head_means tg_head_stats_means(const tg_head_stats *head);

/* The same numbers for a head that attends equally to all keys that it sees, by the rule's window, over the
 * filter's queries of T.  row [T] is scratch. */
void tg_head_stats_uniform(tg_head_stats *head, double *row, size_t T, const int32_t *ids,
                           const tg_attn_filter *filter, const tg_attention_rule *rule);

/* ---- of a layer */

typedef struct tg_head_stats_scratch {
    tg_attn_scratch *each; /* [threads] */
    size_t threads;
} tg_head_stats_scratch;
void tg_head_stats_place(tg_arena *arena, tg_head_stats_scratch *scratch, size_t T, size_t D);

/*
 * Compute heads [B,H] of a layer: those that filter->head keeps, over the queries that it keeps; the
 * others are zeroed.  One thread computes a head from start to end, in O(T*T*D) time; no [T,T] is
 * stored.  TG_EDATA, with the place: a score or probability is not finite.
 */
TG_MUST_CHECK tg_status tg_head_stats_of_layer(tg_head_stats *heads, const tg_attn_layer *layer,
                                               const int32_t *ids, const tg_attn_filter *filter,
                                               const tg_head_stats_scratch *scratch, tg_err *err);

#endif
