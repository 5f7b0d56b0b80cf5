/*
 * stage: the numbers of the arrays in shape.h.
 *
 * Scores, probabilities, att and out are computed in double precision from float32 q, k
 * and v, by the reference's sums (panel.h); the others are the model's own float32 numbers.
 */
#ifndef TG_ATTN_STAGE_H
#define TG_ATTN_STAGE_H

#include <stddef.h>

#include "lib/attn/layers.h"
#include "lib/attn/shape.h"

/* Room for any one stage but the square ones: O(B*T*C). */
typedef struct tg_attn_stages {
    tg_attn_work work;
    double *values; /* [B,T,3C] */
    double *att;    /* [B,T,C] */
} tg_attn_stages;
void tg_attn_stages_place(tg_arena *arena, tg_attn_stages *stages, size_t B, size_t T, size_t C, size_t H);

/*
 * A stage that is not square, as values [its shape]; one that the layer has.  Of att only the
 * picked head's and query's numbers are computed, of out the query's: the others are not to be
 * looked at.  q, k, v and att have the view's layout.
 */
void tg_attn_stages_fill(tg_attn_stages *stages, tg_attn_stage stage, const tg_attn_layer *layer,
                         const tg_attn_pick *pick);

#endif
