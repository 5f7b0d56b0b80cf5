/*
 * shape: the indices, sizes and strides of the arrays between a layer's input and the output of its
 * attention, called stages, which lib/tg/attention.h lists.  resid, x, qkv and out are only in a model.
 */
#ifndef TG_ATTN_SHAPE_H
#define TG_ATTN_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/attn/attn.h"
#include "lib/tg/attention.h"

/* Whether arrays q, k and v alone do not have it: resid, x, qkv, out, and what q and k were before. */
bool tg_attn_stage_of_model(tg_attn_stage stage);

/* Whether it is not divided into heads: resid, x, qkv, out. */
bool tg_attn_stage_whole(tg_attn_stage stage);

/* Whether its heads are those of keys: k, v, and what k was before. */
bool tg_attn_stage_of_keys(tg_attn_stage stage);

/* Whether it has a row per query and a column per key: scores, probs. */
bool tg_attn_stage_square(tg_attn_stage stage);

/* The dimensions of an array; the last one is contiguous. */
#define TG_ATTN_DIMS 4
typedef struct tg_attn_shape {
    size_t n;
    const char *dim[TG_ATTN_DIMS];                   /* "B" */
    char index[TG_ATTN_DIMS + 1];                    /* "bthd" */
    size_t size[TG_ATTN_DIMS], stride[TG_ATTN_DIMS]; /* strides in elements */
} tg_attn_shape;

/* The shape of a stage in the view's layout; the view's pointers are ignored.  The product of
 * the sizes must not overflow. */
void tg_attn_stage_shape(tg_attn_shape *shape, tg_attn_stage stage, const tg_qkv_view *view);

/* The number of elements. */
size_t tg_attn_shape_count(const tg_attn_shape *shape);

#endif
