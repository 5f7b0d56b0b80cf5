/*
 * shape: the arrays between a layer's input and the output of its attention, called stages,
 * and their indices, sizes and strides.
 *
 *     resid   [B,T,C]    the residual stream that reaches the layer; only in a model
 *     x       [B,T,C]    the input, after ln_1; only in a model
 *     qkv     [B,T,3C]   x w + bias; only in a model that computes all three at once
 *     q.proj, k.proj      like q and k: x w + bias; only where they are normed or rotated
 *     q.normed, k.normed  and then normed; only in a model that norms them
 *     q, k, v [B,T,H,D]  as attention reads them; or, with layout bhtd, [B,H,T,D]
 *     scores  [B,H,T,T]  of key j for query i, scaled and masked
 *     probs   [B,H,T,T]  softmax over j
 *     att     like q     the weighted sum of the values
 *     out     [B,T,C]    att projected, before the residual is added; only in a model
 */
#ifndef TG_ATTN_SHAPE_H
#define TG_ATTN_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/attn/attn.h"
#include "lib/base/api.h"

TG_API_BEGIN

/* Every stage in order: its constant, and its name in options and archives. */
#define TG_ATTN_STAGE_TABLE(ROW)                                                                             \
    ROW(TG_ATTN_RESID, resid)                                                                                \
    ROW(TG_ATTN_X, x)                                                                                        \
    ROW(TG_ATTN_QKV, qkv)                                                                                    \
    ROW(TG_ATTN_Q_PROJECTED, q.proj)                                                                         \
    ROW(TG_ATTN_K_PROJECTED, k.proj)                                                                         \
    ROW(TG_ATTN_Q_NORMED, q.normed)                                                                          \
    ROW(TG_ATTN_K_NORMED, k.normed)                                                                          \
    ROW(TG_ATTN_Q, q)                                                                                        \
    ROW(TG_ATTN_K, k)                                                                                        \
    ROW(TG_ATTN_V, v)                                                                                        \
    ROW(TG_ATTN_SCORES, scores)                                                                              \
    ROW(TG_ATTN_PROBS, probs)                                                                                \
    ROW(TG_ATTN_ATT, att)                                                                                    \
    ROW(TG_ATTN_OUT, out)

#define TG_ATTN_STAGE_CONSTANT(constant, name) constant,
#define TG_ATTN_STAGE_CHOICE(constant, name) "|" #name

typedef enum tg_attn_stage {
    TG_ATTN_STAGE_TABLE(TG_ATTN_STAGE_CONSTANT) TG_ATTN_STAGE_COUNT,
    TG_ATTN_EVERY = TG_ATTN_STAGE_COUNT /* instead of one stage: all of them */
} tg_attn_stage;

/* "resid|x|qkv|...": a list for lib/base/choice.h. */
#define TG_ATTN_STAGES (&TG_ATTN_STAGE_TABLE(TG_ATTN_STAGE_CHOICE)[1])

const char *tg_attn_stage_name(tg_attn_stage stage); /* "resid" */

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

TG_API_END

#endif
