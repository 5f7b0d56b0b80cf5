/*
 * attn: causal attention, one row of scores at a time, with the offset of every number.
 *
 * Row-major, last index contiguous, C = H*D:
 *
 *     q, k, v   [B,T,C]    read as [B,T,H,D]: head h of token t starts at
 *                          ((b*T + t)*H + h)*D                          (tg_attn_base)
 *               [B,H,T,D]  in a transposed copy: ((b*H + h)*T + t)*D
 *     scores    [B,H,T,T]  ((b*H + h)*T + i)*T + j                      (tg_attn_offset)
 *
 * With H = 1 these are (b*T + t)*C and (b*T + i)*T + j, the offsets in [B,T,T].  Where H/KV heads read the
 * same keys and values, there are KV heads of k and v, of which h reads h / (H/KV) (tg_attn_kv_base).
 *
 * Scores are never stored.  A walk computes one row after another in double precision, with
 * exactly the bits of the reference operations, and passes each row to a callback.
 * A row costs O(T*D) time; the walk needs O(T*D) memory besides q, k and v.
 */
#ifndef TG_ATTN_ATTN_H
#define TG_ATTN_ATTN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/nn/ref/rule.h"

TG_API_BEGIN

/* The order of the indices of q, k, v and att wherever offsets are shown. */
typedef enum tg_attn_layout { TG_ATTN_BTHD, TG_ATTN_BHTD } tg_attn_layout;
#define TG_ATTN_LAYOUTS "bthd|bhtd"

/* Where q, k and v are: the vectors of token (b,t) start at float (b*T + t)*ldq of q, and so on.
 * In GPT-2 all three are slices of qkv [T,3C], 3C apart. */
typedef struct tg_qkv_view {
    size_t B, T, C;  /* C: channels of the layer's input and output */
    size_t H, KV, D; /* heads of q; of k and v, a divisor of H; channels of each */
    size_t ldq, ldk, ldv;
    const float *q, *k, *v;
    tg_attention_rule rule; /* of the scores; zeros: q k^T / sqrt(D) with the causal mask */
    tg_attn_layout layout;  /* of the offsets that tg_attn_base() gives, not of q, k and v themselves */
} tg_qkv_view;

/* C channels in H heads, a divisor of C, of q, k and v alike, whose tokens follow one another. */
static inline tg_qkv_view tg_attn_shape_of(size_t B, size_t T, size_t C, size_t H)
{
    const size_t D = H > 0 ? C / H : 0;
    const tg_qkv_view view = {B, T, C, H, H, D, C, C, C, NULL, NULL, NULL, {0, 0, 0}, TG_ATTN_BTHD};

    return view;
}

/* The head of k and v that head h reads. */
static inline size_t tg_attn_kv_head(const tg_qkv_view *a, size_t h)
{
    return h / (a->H / a->KV);
}

static inline size_t tg_attn_base(const tg_qkv_view *a, size_t b, size_t t, size_t h)
{
    const size_t row = a->layout == TG_ATTN_BTHD ? (b * a->T + t) * a->H + h : (b * a->H + h) * a->T + t;

    return row * a->D;
}

/* In k and v, of their head g. */
static inline size_t tg_attn_kv_base(const tg_qkv_view *a, size_t b, size_t t, size_t g)
{
    const size_t row = a->layout == TG_ATTN_BTHD ? (b * a->T + t) * a->KV + g : (b * a->KV + g) * a->T + t;

    return row * a->D;
}

static inline size_t tg_attn_offset(const tg_qkv_view *a, size_t b, size_t h, size_t i, size_t j)
{
    return ((b * a->H + h) * a->T + i) * a->T + j;
}

/* The value shown or stored for a masked score.  Each is so far below every score that its
 * probability is exactly 0.  A walk itself uses TG_MASKED. */
typedef enum tg_attn_mask { TG_ATTN_1E9, TG_ATTN_INF, TG_ATTN_MIN } tg_attn_mask;
#define TG_ATTN_MASKS "-1e9|-inf|min"
float tg_attn_mask_value(tg_attn_mask mask); /* -1e9, -infinity, -FLT_MAX */

/* Which rows to compute, and which of their elements to show: in each field one index, or all. */
#define TG_ATTN_ALL SIZE_MAX
typedef struct tg_attn_filter {
    size_t layer, head, query, key;
} tg_attn_filter;
#define TG_ATTN_KEEP_ALL ((tg_attn_filter){TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL})

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

/* One row: query i of head h, which sees the keys first <= j <= i; the others are masked.  The arrays belong
 * to the walk and are valid until the next row. */
typedef struct tg_attn_row {
    const tg_qkv_view *view;
    size_t layer, b, h, i;
    size_t first;          /* 0, unless the view's rule has a window */
    size_t j_begin, j_end; /* the keys that the filter keeps */
    const double *scores;  /* [T] (q_i . k_j)/sqrt(D), or by the view's rule; TG_MASKED for masked keys */
    const double *probs;   /* [T] softmax of scores; 0 for masked keys */
    const double *att;     /* [D] sum over j of probs[j] * v_j */
} tg_attn_row;

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

/* Called for each row in the order b, h, i, by ascending offset; false ends the walk. */
typedef bool (*tg_attn_visit)(void *context, const tg_attn_row *row);

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

TG_API_END

#endif
