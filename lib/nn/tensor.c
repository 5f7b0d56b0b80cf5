#include "lib/nn/tensor.h"

#include <assert.h>
#include <stdio.h>

#include "lib/base/size.h"

tg_status tg_tensor_reshape(tg_tensor *view, const tg_tensor *t, const size_t *shape, size_t ndim,
                            tg_err *err)
{
    char from[TG_TENSOR_TEXT_MAX], to[TG_TENSOR_TEXT_MAX];
    size_t have = 0, want = 0;
    tg_tensor reshaped = {.data = t->data, .ndim = ndim};

    if (ndim > TG_TENSOR_NDIM_MAX)
        return tg_fail(err, TG_EDATA, "cannot reshape %s to %zu dimensions, expected at most %d",
                       tg_tensor_text(from, t->shape, t->ndim), ndim, TG_TENSOR_NDIM_MAX);
    if (tg_tensor_count(&have, t->shape, t->ndim, err) || tg_tensor_count(&want, shape, ndim, err))
        return TG_EDATA;
    if (have != want)
        return tg_fail(err, TG_EDATA, "cannot reshape %s to %s: %zu elements, expected %zu",
                       tg_tensor_text(from, t->shape, t->ndim), tg_tensor_text(to, shape, ndim), have, want);
    for (size_t d = 0; d < ndim; d++)
        reshaped.shape[d] = shape[d];
    *view = reshaped;
    return TG_OK;
}

size_t tg_tensor_offset(const size_t *shape, size_t ndim, const size_t *index)
{
    size_t offset = 0;

    for (size_t d = 0; d < ndim; d++) {
        assert(index[d] < shape[d]);
        offset = offset * shape[d] + index[d];
    }
    return offset;
}

tg_status tg_tensor_count(size_t *count, const size_t *shape, size_t ndim, tg_err *err)
{
    char text[TG_TENSOR_TEXT_MAX];
    size_t product = 1;

    for (size_t d = 0; d < ndim; d++)
        if (!tg_size_mul(&product, product, shape[d]))
            return tg_fail(err, TG_EDATA, "the number of elements of shape %s overflows",
                           tg_tensor_text(text, shape, ndim));
    *count = product;
    return TG_OK;
}

const char *tg_tensor_text(char text[TG_TENSOR_TEXT_MAX], const size_t *shape, size_t ndim)
{
    size_t used = 0;

    assert(ndim <= TG_TENSOR_NDIM_MAX);
    text[used++] = '[';
    for (size_t d = 0; d < ndim; d++)
        used += (size_t)snprintf(text + used, TG_TENSOR_TEXT_MAX - used, "%s%zu", d ? "," : "", shape[d]);
    text[used++] = ']';
    text[used] = '\0';
    return text;
}
