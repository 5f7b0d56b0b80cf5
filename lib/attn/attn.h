/*
 * attn: causal attention, one row of scores at a time.  lib/tg/attention.h says where each number lies, and
 * has the types.
 *
 * A walk computes one row after another in double precision, with exactly the bits of the reference
 * operations, and passes each row to a callback.  A row costs O(T*D) time; the walk needs O(T*D) memory
 * besides q, k and v.
 */
#ifndef TG_ATTN_ATTN_H
#define TG_ATTN_ATTN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/nn/ref/rule.h"
#include "lib/tg/attention.h"

/* C channels in H heads, a divisor of C, of q, k and v alike, whose tokens follow one another. */
static inline tg_qkv_view tg_attn_shape_of(size_t B, size_t T, size_t C, size_t H)
{
    const size_t D = H > 0 ? C / H : 0;
    const tg_qkv_view view = {B, T, C, H, H, D, C, C, C, NULL, NULL, NULL, {0, 0, 0}, TG_ATTN_BTHD};

    return view;
}

/* Whether a field of a filter keeps this index. */
static inline bool tg_attn_keeps(size_t wanted, size_t index)
{
    return wanted == TG_ATTN_ALL || wanted == index;
}

/* Check a field of a filter: TG_ATTN_ALL, or below n.  TG_EUSAGE, with the range; `what` is its
 * name in the message ("layer"). */
TG_MUST_CHECK tg_status tg_attn_check_index(const char *what, size_t index, size_t n, tg_err *err);

/* Check all four, against L, H, T and T. */
TG_MUST_CHECK tg_status tg_attn_filter_check(const tg_attn_filter *filter, size_t L, size_t H, size_t T,
                                             tg_err *err);

/* Whether the row's query sees key j. */
static inline bool tg_attn_row_sees(const tg_attn_row *row, size_t j)
{
    return j >= row->first && j <= row->i;
}

/* probs [T] from scores [T]: masked keys get probability 0, however low the seen scores are. */
void tg_attn_probs_row(double *probs, const double *scores, size_t T, size_t first, size_t i);

/* Whether all numbers of a row are finite after rounding to float32; finite but huge weights overflow.
 * tg_attn_not_finite() sets the error for a row that is not: TG_EDATA, with its place. */
bool tg_attn_row_is_finite(const tg_attn_row *row);
tg_status tg_attn_not_finite(size_t layer, size_t head, size_t query, tg_err *err);

/* One head's keys and values, laid out so that 8 scores of a row, or 8 channels of its weighted sum, are
 * computed at a time. */
typedef struct tg_attn_panel {
    size_t T, D;
    double *k; /* [T/8 rounded up, D, 8]: key j's channel d at (j/8*D + d)*8 + j%8 */
    double *v; /* [T, D rounded up to 8] */
} tg_attn_panel;

/* Scratch of a walk: one head, and one row per thread.  threads = 0: tg_threads().  Any T and D are accepted;
 * a size that overflows makes tg_arena_alloc() fail. */
typedef struct tg_attn_scratch {
    tg_attn_panel panel;
    size_t threads;
    double *rows; /* [threads, row_width] */
    size_t row_width;
} tg_attn_scratch;
void tg_attn_scratch_place(tg_arena *arena, tg_attn_scratch *scratch, size_t threads, size_t T, size_t D);

/* Walk over the rows of one layer that the filter keeps, in this thread.  `layer` is only copied into
 * the rows.  filter->layer is ignored; the other fields must be in range.  Returns false if visit ended
 * the walk. */
bool tg_attn_walk(const tg_qkv_view *view, size_t layer, const tg_attn_filter *filter,
                  tg_attn_scratch *scratch, tg_attn_visit visit, void *context);

/*
 * The same walk with all of the scratch's threads.
 *
 * Rows are distributed in consecutive chunks of tg_attn_chunk(T).  `row` is called by several
 * threads at once; `thread` < scratch->threads tells them apart.  After its chunk a thread
 * calls `turn`, and turns are taken in the order of the rows, so that output made by `row` can
 * be written in order.  A turn that returns false ends the walk: no later turn is called,
 * though `row` may already have seen later rows.
 */
typedef struct tg_attn_visitor {
    void (*row)(void *context, const tg_attn_row *row, size_t thread);
    bool (*turn)(void *context, size_t thread); /* NULL: order does not matter */
    void *context;
    bool att; /* compute `att`, which costs as much as the scores; otherwise it is NULL in the rows */
} tg_attn_visitor;
bool tg_attn_walk_parallel(const tg_qkv_view *view, size_t layer, const tg_attn_filter *filter,
                           tg_attn_scratch *scratch, const tg_attn_visitor *visitor);
size_t tg_attn_chunk(size_t T);

#endif
