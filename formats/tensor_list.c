#include "formats/tensor_list.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/block_types.h"
#include "lib/base/convert.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"

/* ---- the list */

static tg_status check_name(const char *name, size_t n, tg_err *err)
{
    if (n == 0)
        return tg_fail(err, TG_EDATA, "a tensor's name is empty");
    if (n > TG_NAME_MAX)
        return tg_fail(err, TG_EDATA, "a tensor's name has %zu bytes, expected at most %d", n, TG_NAME_MAX);
    for (size_t i = 0; i < n; i++)
        if (name[i] <= 0x20 || name[i] >= 0x7F)
            return tg_fail(err, TG_EDATA, "a tensor's name has the byte \\x%02X, expected printable ASCII",
                           (unsigned)(unsigned char)name[i]);
    return TG_OK;
}

tg_status tg_stored_set_name(tg_stored *s, const char *name, size_t n, tg_err *err)
{
    tg_status status = check_name(name, n, err);

    if (status)
        return status;
    memcpy(s->array.name, name, n);
    s->array.name[n] = '\0';
    return TG_OK;
}

tg_status tg_tensor_list_add(tg_tensor_list *list, const tg_stored *s, tg_err *err)
{
    tg_status status = check_name(s->array.name, strlen(s->array.name), err);

    if (status)
        return status;
    if (list->n == TG_NAMES_MAX)
        return tg_fail(err, TG_EDATA, "more than %d tensors", TG_NAMES_MAX);
    if ((status = tg_grow(&list->tensor, &list->capacity, list->n + 1, sizeof *list->tensor,
                          "the list of tensors", err)))
        return status;
    list->tensor[list->n++] = *s;
    return TG_OK;
}

static int compare_sizes(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_places(const void *a, const void *b)
{
    const tg_stored *s = a, *t = b;
    const int by_offset = compare_sizes(s->offset, t->offset);
    const int by_size = by_offset ? by_offset : compare_sizes(s->stored, t->stored);

    return by_size ? by_size : strcmp(s->array.name, t->array.name);
}

/* For the sort by name: the names, and where each belongs. */
struct named {
    const char *name;
    size_t i;
};

static int compare_names(const void *a, const void *b)
{
    const struct named *s = a, *t = b;

    return strcmp(s->name, t->name);
}

static tg_status index_names(tg_tensor_list *list, tg_err *err)
{
    struct named *named = malloc((list->n + 1) * sizeof *named);
    tg_status status = TG_OK;

    free(list->by_name);
    list->by_name = malloc((list->n + 1) * sizeof *list->by_name);
    if (!named || !list->by_name) {
        free(named);
        return tg_fail_memory(err, list->n * sizeof *named, "the list of tensors");
    }
    for (size_t i = 0; i < list->n; i++)
        named[i] = (struct named){list->tensor[i].array.name, i};
    qsort(named, list->n, sizeof *named, compare_names);
    for (size_t i = 0; i < list->n; i++) {
        list->by_name[i] = named[i].i;
        if (i > 0 && compare_names(&named[i - 1], &named[i]) == 0)
            status = tg_fail(err, TG_EDATA, "there are two tensors %s", named[i].name);
    }
    free(named);
    return status;
}

static tg_status check_overlap(const tg_tensor_list *list, tg_err *err)
{
    const tg_stored *last = NULL; /* of those with data */

    for (size_t i = 0; i < list->n; i++) {
        const tg_stored *s = &list->tensor[i];

        if (s->stored == 0)
            continue;
        if (last && s->offset < last->offset + last->stored &&
            (s->offset != last->offset || s->stored != last->stored))
            return tg_fail(err, TG_EDATA, "%s at %llu overlaps %s at %llu to %llu", s->array.name,
                           (unsigned long long)s->offset, last->array.name, (unsigned long long)last->offset,
                           (unsigned long long)(last->offset + last->stored));
        last = s;
    }
    return TG_OK;
}

tg_status tg_tensor_list_arrange(tg_tensor_list *list, tg_err *err)
{
    tg_status status;

    if (list->n > 0)
        qsort(list->tensor, list->n, sizeof *list->tensor, compare_places);
    status = index_names(list, err);
    return status ? status : check_overlap(list, err);
}

const tg_stored *tg_tensor_list_find(const tg_tensor_list *list, const char *name)
{
    size_t low = 0, high = list->by_name ? list->n : 0;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const tg_stored *s = &list->tensor[list->by_name[middle]];
        const int order = strcmp(name, s->array.name);

        if (order == 0)
            return s;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void tg_tensor_list_free(tg_tensor_list *list)
{
    free(list->tensor);
    free(list->by_name);
    *list = (tg_tensor_list){0};
}

/* ---- values */

#define BLOCK ((size_t)512) /* values converted at once */

/* The values may have any alignment; copied first, they can be converted with vectors. */
static void load_bf16(float *out, const unsigned char *in, size_t n)
{
    uint16_t bits[BLOCK];

    memcpy(bits, in, n * sizeof *bits);
    for (size_t i = 0; i < n; i++)
        out[i] = tg_float_from_bf16(bits[i]);
}

static void load_half(float *out, const unsigned char *in, size_t n)
{
    uint16_t bits[BLOCK];

    memcpy(bits, in, n * sizeof *bits);
    for (size_t i = 0; i < n; i++)
        out[i] = tg_float_from_half(bits[i]);
}

static void load_double(float *out, const unsigned char *in, size_t n)
{
    double x[BLOCK];

    memcpy(x, in, n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        out[i] = (float)x[i];
}

tg_status tg_stored_load(float *out, const tg_stored *s, size_t first, size_t n, tg_err *err)
{
    const tg_dtype type = s->array.dtype;
    const unsigned char *in = s->at + first * type.size;
    void (*load)(float *, const unsigned char *, size_t) = tg_dtype_equal(type, TG_F16)    ? load_half
                                                           : tg_dtype_equal(type, TG_BF16) ? load_bf16
                                                           : tg_dtype_equal(type, TG_F64)  ? load_double
                                                                                           : NULL;
    char text[TG_ARRAY_TEXT_MAX];

    assert(first <= s->array.count && n <= s->array.count - first);
    if (s->blocks) {
        tg_blocks_decode(out, s->blocks, s->at, first, n);
        return TG_OK;
    }
    if (tg_dtype_equal(type, TG_F32)) {
        memcpy(out, in, n * sizeof *out);
        return TG_OK;
    }
    if (!load)
        return tg_fail(err, TG_EDATA, "%s has type %s, expected floating-point numbers", s->array.name,
                       tg_stored_type(text, s));
    for (size_t i = 0; i < n; i += BLOCK)
        load(out + i, in + i * type.size, tg_size_min(BLOCK, n - i));
    return TG_OK;
}

const char *tg_stored_type(char text[TG_ARRAY_TEXT_MAX], const tg_stored *s)
{
    const tg_dtype type = s->array.dtype;

    if (s->blocks)
        return s->blocks->name;
    if (type.kind == 'B' || type.kind == 'b')
        return type.kind == 'B' ? "bf16" : "bool";
    snprintf(text, TG_ARRAY_TEXT_MAX, "%c%zu", type.kind, 8 * type.size);
    return text;
}
