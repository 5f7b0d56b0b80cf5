#include "lib/tg/array.h"

#include <stdint.h>
#include <stdio.h>

#include "lib/base/size.h"

bool tg_dtype_is_valid(tg_dtype t)
{
    switch (t.kind) {
    case 'u':
    case 'i':
        return t.size == 1 || t.size == 2 || t.size == 4 || t.size == 8;
    case 'f':
        return t.size == 2 || t.size == 4 || t.size == 8;
    case 'B':
        return t.size == 2;
    case 'b':
        return t.size == 1;
    case 'S':
        return t.size >= 1;
    default:
        return false;
    }
}

bool tg_dtype_equal(tg_dtype a, tg_dtype b)
{
    return a.kind == b.kind && a.size == b.size;
}

bool tg_array_measure(tg_array *a)
{
    size_t count = 1; /* product of the nonzero dimensions */
    bool empty = false;

    if (a->ndim > TG_DIMS_MAX || !tg_dtype_is_valid(a->dtype))
        return false;
    for (size_t i = 0; i < a->ndim; i++) {
        empty = empty || a->shape[i] == 0;
        if (a->shape[i] > 0 && !tg_size_mul(&count, count, a->shape[i]))
            return false;
    }
    if (!tg_size_mul(&a->bytes, count, a->dtype.size) || a->bytes > PTRDIFF_MAX)
        return false;
    a->count = empty ? 0 : count;
    a->bytes = empty ? 0 : a->bytes;
    return true;
}

const char *tg_dtype_text(char text[TG_ARRAY_TEXT_MAX], tg_dtype dtype)
{
    if (tg_dtype_equal(dtype, TG_BF16))
        snprintf(text, TG_ARRAY_TEXT_MAX, "bf16");
    else
        snprintf(text, TG_ARRAY_TEXT_MAX, "%c%c%zu", dtype.size == 1 || dtype.kind == 'S' ? '|' : '<',
                 dtype.kind, dtype.size);
    return text;
}

const char *tg_shape_text(char text[TG_ARRAY_TEXT_MAX], size_t ndim, const size_t *shape)
{
    size_t used = 1;

    text[0] = '(';
    for (size_t i = 0; i < ndim; i++)
        used += (size_t)snprintf(text + used, TG_ARRAY_TEXT_MAX - used, "%zu%s", shape[i],
                                 ndim == 1      ? ","
                                 : i + 1 < ndim ? ", "
                                                : "");
    text[used] = ')';
    text[used + 1] = '\0';
    return text;
}
