/*
 * stage: the numbers of the arrays in shape.h.
 *
 * Scores, probabilities, att and out are computed in double precision from float32 q, k and v,
 * by the reference's sums (attn.h); the others are the model's own float32 numbers.
 */
#ifndef TG_ATTN_STAGE_H
#define TG_ATTN_STAGE_H

#include <stddef.h>

#include "lib/attn/layers.h"
#include "lib/attn/shape.h"

/* Scratch for any stage, and the values of any except the square ones: O(B*T*C). */
typedef struct tg_stage_scratch {
    tg_attn_scratch walk;
    double *values; /* [B,T,tg_stage_width()] */
    double *att;    /* [B,T,H*D] */
} tg_stage_scratch;
void tg_stage_scratch_place(tg_arena *arena, tg_stage_scratch *scratch, const tg_qkv_view *shape);

/* Elements for each token of the widest stage that is not square: 3C in GPT-2. */
size_t tg_stage_width(const tg_qkv_view *shape);

/*
 * Compute a stage that is not square, and that the layer has, into scratch->values, in the stage's
 * shape; q, k, v and att in the view's layout.  Of att only the numbers of the filter's head and
 * query are computed, of out those of its query; the others are unspecified.
 */
void tg_stage_fill(tg_stage_scratch *scratch, tg_attn_stage stage, const tg_attn_layer *layer,
                   const tg_attn_filter *filter);

/* A row of scores or probabilities, which starts at `offset` of the array and has T elements: those from
 * `first` to `last` are seen, the others masked.  Another stage is one row, all of which is seen. */
typedef struct tg_stage_part {
    size_t offset, first, last, T;
    const double *numbers; /* [last + 1]; those before `first` have no meaning */
} tg_stage_part;

/* Several threads call it at once. */
typedef void (*tg_stage_row)(void *context, const tg_stage_part *part);

/* Compute all rows of a stage that the layer has, in any order, by all threads.  Of square stages nothing is
 * stored. */
void tg_stage_walk(tg_stage_scratch *scratch, tg_attn_stage stage, const tg_attn_layer *layer,
                   tg_stage_row row, void *context);

/* The value of a masked element: 0 in probs, and the mask's in scores. */
float tg_stage_masked(tg_attn_stage stage, tg_attn_mask mask);

#endif
