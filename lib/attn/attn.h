/*
 * attn: causal attention, one row of scores at a time, with the place of every
 * number.
 *
 * Row-major, last index contiguous, C = H*D:
 *
 *     q, k, v   [B,T,C]    read as [B,T,H,D]: head h of token t starts at
 *                          ((b*T + t)*H + h)*D                          (tg_attn_base)
 *     scores    [B,H,T,T]  ((b*H + h)*T + i)*T + j                      (tg_attn_offset)
 *
 * With H = 1 these are (b*T + t)*C and (b*T + i)*T + j, the offsets in [B,T,T].
 * Scores are never stored: a walk computes row after row with the reference
 * operations in double precision and shows each to a function.  Memory is O(T*D),
 * beside q, k and v.
 */
#ifndef TG_ATTN_ATTN_H
#define TG_ATTN_ATTN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

/* Where q, k and v lie: the C-vector of token (b,t) starts at `stride` floats
 * times (b*T + t).  In a model they are slices of qkv [T,3C], stride 3C. */
typedef struct tg_attn_view {
    size_t B, T, C, H; /* H divides C */
    size_t stride;
    const float *q, *k, *v;
} tg_attn_view;

static inline size_t tg_attn_base(const tg_attn_view *a, size_t b, size_t t, size_t h)
{
    return ((b * a->T + t) * a->H + h) * (a->C / a->H);
}

static inline size_t tg_attn_offset(const tg_attn_view *a, size_t b, size_t h, size_t i, size_t j)
{
    return ((b * a->H + h) * a->T + i) * a->T + j;
}

/* Which rows, and which of their elements: an index, or all of them. */
#define TG_ATTN_ALL SIZE_MAX
typedef struct tg_attn_pick {
    size_t layer, head, query, key;
} tg_attn_pick;

/* Each picked index is below L, H, T, T; TG_EUSAGE with the range otherwise. */
TG_MUST_CHECK tg_status tg_attn_pick_check(const tg_attn_pick *pick, size_t L, size_t H, size_t T,
                                           tg_err *err);

/* One row: query i of head h.  The arrays are the walk's, until the next row. */
typedef struct tg_attn_row {
    const tg_attn_view *view;
    size_t layer, b, h, i;
    size_t j_begin, j_end; /* the keys that were picked; k base and offset by the functions above */
    const double *scores;  /* [T] (q_i . k_j)/sqrt(D) for j <= i, TG_MASKED for j > i */
    const double *probs;   /* [T] softmax of scores; 0 for j > i */
    const double *att;     /* [D] sum over j of probs[j] * v_j */
} tg_attn_row;

/* Shown each row in the order b, h, i, so that offsets ascend; false ends the walk. */
typedef bool (*tg_attn_visit)(void *context, const tg_attn_row *row);

/* Scratch of a walk. */
typedef struct tg_attn_work {
    double *q, *k, *v;            /* one head: [D], [T,D], [T,D] */
    double *scores, *probs, *att; /* [T], [T], [D] */
} tg_attn_work;
void tg_attn_place(tg_arena *arena, tg_attn_work *work, size_t T, size_t D);

/* Walk over one layer's picked rows (pick->layer is not looked at).  `layer` is
 * what the rows say.  False when visit ended it. */
bool tg_attn_walk(const tg_attn_view *view, size_t layer, const tg_attn_pick *pick, tg_attn_work *work,
                  tg_attn_visit visit, void *context);

#endif
