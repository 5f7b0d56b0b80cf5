/*
 * panel: one head's keys and values, laid out so that several scores of a row are computed
 * at a time.
 *
 * Every result has exactly the bits of the double-precision reference operations
 * (attention_scores_row, softmax_row, attention_values_row in lib/nn/ref/ref_ops.h): each sum
 * adds the same products in the same order.  Only the loops differ: the sums of TG_PANEL keys,
 * or of TG_PANEL channels, advance together.
 */
#ifndef TG_ATTN_PANEL_H
#define TG_ATTN_PANEL_H

#include <stddef.h>

#include "lib/base/api.h"
#include "lib/base/arena.h"

TG_API_BEGIN

#define TG_PANEL ((size_t)8)

typedef struct tg_attn_panel {
    size_t T, D;
    double *k; /* [T/TG_PANEL rounded up, D, TG_PANEL]: key j's channel d at (j/8*D + d)*8 + j%8 */
    double *v; /* [T, D rounded up to TG_PANEL] */
} tg_attn_panel;

/* Place it in an arena (see arena.h).  Any T and D are accepted; a size that overflows makes
 * tg_arena_alloc() fail. */
void tg_attn_panel_place(tg_arena *arena, tg_attn_panel *panel, size_t T, size_t D);

/* Store token t's key and value [D]. */
void tg_attn_panel_put(tg_attn_panel *panel, size_t t, const float *k, const float *v);

/* T rounded up to TG_PANEL: the doubles that tg_attn_panel_scores() writes for T keys. */
size_t tg_attn_panel_width(size_t T);

/*
 * scores[j] = (sum over d of q[d] * k_j[d]) / sqrt(D) for j <= i, TG_MASKED for i < j < T
 *
 *   scores  [tg_attn_panel_width(T)]  written
 *   q       [D]  read
 */
void tg_attn_panel_scores(double *scores, const tg_attn_panel *panel, const double *q, size_t i);

/*
 * att[d] = sum over j <= i of probs[j] * v_j[d]
 *
 *   att    [tg_attn_panel_width(D)]  written
 *   probs  [i + 1]  read
 */
void tg_attn_panel_values(double *att, const tg_attn_panel *panel, const double *probs, size_t i);

TG_API_END

#endif
