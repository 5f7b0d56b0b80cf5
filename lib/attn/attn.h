/*
 * attn: causal attention, one row of scores at a time, with the place of every
 * number.
 *
 * Row-major, last index contiguous, C = H*D:
 *
 *     q, k, v   [B,T,C]    read as [B,T,H,D]: head h of token t starts at
 *                          ((b*T + t)*H + h)*D                          (tg_attn_base)
 *               [B,H,T,D]  a transposed copy: ((b*H + h)*T + t)*D
 *     scores    [B,H,T,T]  ((b*H + h)*T + i)*T + j                      (tg_attn_offset)
 *
 * With H = 1 these are (b*T + t)*C and (b*T + i)*T + j, the offsets in [B,T,T].
 * Scores are never stored: a walk computes row after row, in double precision, with the
 * bits that the reference operations give (panel.h), and shows each to a function.
 * Memory is O(T*D), beside q, k and v.
 */
#ifndef TG_ATTN_ATTN_H
#define TG_ATTN_ATTN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/attn/panel.h"
#include "lib/base/arena.h"
#include "lib/base/status.h"

/* In which order the indices of q, k, v and att count, as far as offsets are shown. */
typedef enum tg_attn_layout { TG_ATTN_BTHD, TG_ATTN_BHTD } tg_attn_layout;
#define TG_ATTN_LAYOUTS "bthd|bhtd"

/* Where q, k and v lie: the C-vector of token (b,t) starts at `stride` floats
 * times (b*T + t).  In a model they are slices of qkv [T,3C], stride 3C. */
typedef struct tg_attn_view {
    size_t B, T, C, H; /* H divides C */
    size_t stride;
    const float *q, *k, *v;
    tg_attn_layout layout; /* what tg_attn_base() counts in; they lie as said above */
} tg_attn_view;

static inline size_t tg_attn_base(const tg_attn_view *a, size_t b, size_t t, size_t h)
{
    const size_t row = a->layout == TG_ATTN_BTHD ? (b * a->T + t) * a->H + h : (b * a->H + h) * a->T + t;

    return row * (a->C / a->H);
}

static inline size_t tg_attn_offset(const tg_attn_view *a, size_t b, size_t h, size_t i, size_t j)
{
    return ((b * a->H + h) * a->T + i) * a->T + j;
}

/* What stands for a masked score where scores are shown or stored.  Each is far below every
 * score, and so its share of a softmax is exactly 0; a walk itself says TG_MASKED. */
typedef enum tg_attn_mask { TG_ATTN_1E9, TG_ATTN_INF, TG_ATTN_MIN } tg_attn_mask;
#define TG_ATTN_MASKS "-1e9|-inf|min"
float tg_attn_mask_value(tg_attn_mask mask); /* -1e9, -infinity, -FLT_MAX */

/* Which rows, and which of their elements: an index, or all of them. */
#define TG_ATTN_ALL SIZE_MAX
typedef struct tg_attn_pick {
    size_t layer, head, query, key;
} tg_attn_pick;
#define TG_ATTN_PICK_ALL ((tg_attn_pick){TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL})

/* Whether an index, or all of them, stands for this one too. */
static inline bool tg_attn_picks(size_t pick, size_t index)
{
    return pick == TG_ATTN_ALL || pick == index;
}

/* An index, or all, of the n that there are of `what` ("layer"); TG_EUSAGE with the range otherwise. */
TG_MUST_CHECK tg_status tg_attn_index_in(const char *what, size_t index, size_t n, tg_err *err);

/* Each picked index is below L, H, T, T; TG_EUSAGE with the range otherwise. */
TG_MUST_CHECK tg_status tg_attn_pick_check(const tg_attn_pick *pick, size_t L, size_t H, size_t T,
                                           tg_err *err);

/* One row: query i of head h.  The arrays are the walk's, until the next row. */
typedef struct tg_attn_row {
    const tg_attn_view *view;
    size_t layer, b, h, i;
    size_t j_begin, j_end; /* the keys that were picked; k_base and offset by the functions above */
    const double *scores;  /* [T] (q_i . k_j)/sqrt(D) for j <= i, TG_MASKED for j > i */
    const double *probs;   /* [T] softmax of scores; 0 for j > i */
    const double *att;     /* [D] sum over j of probs[j] * v_j */
} tg_attn_row;

/* Whether its numbers, rounded to float32, are finite: weights that are finite but huge overflow on
 * the way.  And the error when they are not: TG_EDATA, with the place. */
bool tg_attn_row_is_finite(const tg_attn_row *row);
tg_status tg_attn_not_finite(size_t layer, size_t head, size_t query, tg_err *err);

/* Shown each row in the order b, h, i, so that offsets ascend; false ends the walk. */
typedef bool (*tg_attn_visit)(void *context, const tg_attn_row *row);

/* Scratch of a walk: one head, and for each thread a row.  threads 0: as many as OpenMP has. */
typedef struct tg_attn_work {
    tg_attn_panel panel;
    size_t threads;
    double *rows;   /* [threads, row_width] */
    size_t row_width;
} tg_attn_work;
void tg_attn_place(tg_arena *arena, tg_attn_work *work, size_t threads, size_t T, size_t D);

/* Walk over one layer's picked rows (pick->layer is not looked at).  `layer` is
 * what the rows say.  False when visit ended it. */
bool tg_attn_walk(const tg_attn_view *view, size_t layer, const tg_attn_pick *pick, tg_attn_work *work,
                  tg_attn_visit visit, void *context);

/*
 * The same by all threads.  Rows are dealt out in chunks of tg_attn_chunk(T) that follow
 * each other; `row` is called for several at a time, `thread` < work->threads telling the
 * callers apart.  After its chunk a thread waits for its turn, which comes in the rows'
 * order, and calls `turn`; false ends the walk: no later turn comes, though rows behind it
 * may have been visited.  So what `row` makes of rows can go out in order.
 */
typedef struct tg_attn_team {
    void (*row)(void *context, const tg_attn_row *row, size_t thread);
    bool (*turn)(void *context, size_t thread); /* or NULL: no order */
    void *context;
    bool att; /* whether rows need `att`, which is NULL otherwise: it costs as much as the scores */
} tg_attn_team;
bool tg_attn_walk_team(const tg_attn_view *view, size_t layer, const tg_attn_pick *pick, tg_attn_work *work,
                       const tg_attn_team *team);
size_t tg_attn_chunk(size_t T);

#endif
