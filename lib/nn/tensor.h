/*
 * tensor: floats and the shape in which they are read.
 *
 * Row-major: the last index moves fastest, and there are no gaps between elements.  So a
 * reshape is a view, the same floats under another shape, and an element's offset is a
 * polynomial in its indices.
 */
#ifndef TG_NN_TENSOR_H
#define TG_NN_TENSOR_H

#include <stddef.h>

#include "lib/base/status.h"

#define TG_TENSOR_NDIM_MAX 8

/* Enough for the text of any shape: "[" 8 numbers of 20 digits, 7 commas "]" */
#define TG_TENSOR_TEXT_MAX 176

typedef struct tg_tensor {
    float *data; /* not owned */
    size_t ndim; /* 0 is a scalar */
    size_t shape[TG_TENSOR_NDIM_MAX];
} tg_tensor;

/*
 * View t's floats under another shape; *view may be *t.  TG_EDATA, with *view unchanged: the
 * new shape has a different number of elements, one that overflows, or more than 8 dimensions.
 *
 *     [2,4,512] -> [2,4,8,64]   C read as H*D: the heads' channels
 */
TG_MUST_CHECK tg_status tg_tensor_reshape(tg_tensor *view, const tg_tensor *t, const size_t *shape,
                                          size_t ndim, tg_err *err);

/*
 * The flat offset, in elements, of one index of a shape [ndim]:
 *
 *     [B,T,C]    (b*T + t)*C + c
 *     [B,H,T,T]  ((b*H + h)*T + i)*T + j
 *
 * index [ndim], each below its dimension (asserted); 0 for ndim = 0.
 */
size_t tg_tensor_offset(const size_t *shape, size_t ndim, const size_t *index);

/* Elements of a shape, 1 for ndim = 0; TG_EDATA when the product overflows. */
TG_MUST_CHECK tg_status tg_tensor_count(size_t *count, const size_t *shape, size_t ndim, tg_err *err);

/* "[2,4,512]" into text; returns text.  ndim <= TG_TENSOR_NDIM_MAX. */
const char *tg_tensor_text(char text[TG_TENSOR_TEXT_MAX], const size_t *shape, size_t ndim);

#endif
