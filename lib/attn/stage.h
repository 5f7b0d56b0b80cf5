/*
 * stage: the arrays between a layer's input and its attention's output.
 *
 *     x       [B,T,C]    the input, behind ln_1; a model's
 *     qkv     [B,T,3C]   x w + bias; a model's
 *     q, k, v [B,T,H,D]  or, with layout bhtd, [B,H,T,D]
 *     scores  [B,H,T,T]  of each key j for each query i, scaled and masked
 *     probs   [B,H,T,T]  softmax over j
 *     att     like q     the weighted sum of the values
 *     out     [B,T,C]    att projected, before the residual; a model's
 *
 * Scores, probabilities, att and out are computed in double precision from float32 q, k
 * and v, by the reference's sums (panel.h); the others are the model's own float32 numbers.
 */
#ifndef TG_ATTN_STAGE_H
#define TG_ATTN_STAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/attn/attn.h"
#include "lib/attn/layers.h"

typedef enum tg_attn_stage {
    TG_ATTN_X,
    TG_ATTN_QKV,
    TG_ATTN_Q,
    TG_ATTN_K,
    TG_ATTN_V,
    TG_ATTN_SCORES,
    TG_ATTN_PROBS,
    TG_ATTN_ATT,
    TG_ATTN_OUT,
    TG_ATTN_EVERY /* none of them alone; also how many there are */
} tg_attn_stage;
#define TG_ATTN_STAGES "x|qkv|q|k|v|scores|probs|att|out"

const char *tg_attn_stage_name(tg_attn_stage stage); /* "x" */

/* Whether only a model has it: x, qkv, out. */
bool tg_attn_stage_of_model(tg_attn_stage stage);

/* Whether it has a row for each query and a column for each key: scores, probs. */
bool tg_attn_stage_square(tg_attn_stage stage);

/* Its indices, the last of which moves fastest. */
#define TG_ATTN_DIMS 4
typedef struct tg_attn_shape {
    size_t n;
    const char *dim[TG_ATTN_DIMS];                   /* "B" */
    char index[TG_ATTN_DIMS + 1];                    /* "bthd" */
    size_t size[TG_ATTN_DIMS], stride[TG_ATTN_DIMS]; /* strides in elements */
} tg_attn_shape;

/* In the view's layout; its pointers are not looked at.  The product of the sizes must not
 * overflow. */
void tg_attn_stage_shape(tg_attn_shape *shape, tg_attn_stage stage, const tg_attn_view *view);

/* Elements of a stage. */
size_t tg_attn_shape_count(const tg_attn_shape *shape);

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
