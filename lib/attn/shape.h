/*
 * shape: which arrays there are between a layer's input and its attention's output, the
 * stages, and how their indices count.
 *
 *     x       [B,T,C]    the input, behind ln_1; a model's
 *     qkv     [B,T,3C]   x w + bias; a model's
 *     q, k, v [B,T,H,D]  or, with layout bhtd, [B,H,T,D]
 *     scores  [B,H,T,T]  of each key j for each query i, scaled and masked
 *     probs   [B,H,T,T]  softmax over j
 *     att     like q     the weighted sum of the values
 *     out     [B,T,C]    att projected, before the residual; a model's
 */
#ifndef TG_ATTN_SHAPE_H
#define TG_ATTN_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/attn/attn.h"

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
    TG_ATTN_STAGE_COUNT,
    TG_ATTN_EVERY = TG_ATTN_STAGE_COUNT /* none of them alone */
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

#endif
