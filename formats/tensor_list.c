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

tg_status tg_tensor_list_add_next(tg_tensor_list *list, const tg_array *a, const unsigned char *file,
                                  size_t *at, tg_err *err)
{
    tg_stored s = {.array = *a, .at = file + *at, .stored = a->bytes, .offset = *at};

    s.array.data = s.at;
    *at += s.stored;
    return tg_tensor_list_add(list, &s, err);
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

static int compare_names(const void *a, const void *b)
{
    const tg_stored *const *s = a, *const *t = b;

    return strcmp((*s)->array.name, (*t)->array.name);
}

static tg_status index_names(tg_tensor_list *list, tg_err *err)
{
    const size_t bytes = (list->n + 1) * sizeof(tg_stored *);
    tg_status status = TG_OK;

    free(list->by_name);
    if (!(list->by_name = malloc(bytes)))
        return tg_fail_memory(err, bytes, "the list of tensors");
    for (size_t i = 0; i < list->n; i++)
        list->by_name[i] = &list->tensor[i];
    qsort(list->by_name, list->n, sizeof(tg_stored *), compare_names);
    for (size_t i = 1; i < list->n; i++)
        if (compare_names(&list->by_name[i - 1], &list->by_name[i]) == 0)
            status = tg_fail(err, TG_EDATA, "there are two tensors %s", list->by_name[i]->array.name);
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

static int compare_with_name(const void *name, const void *entry)
{
    return strcmp(name, (*(const tg_stored *const *)entry)->array.name);
}

const tg_stored *tg_tensor_list_find(const tg_tensor_list *list, const char *name)
{
    const tg_stored *const *const found =
        list->by_name ? bsearch(name, list->by_name, list->n, sizeof(tg_stored *), compare_with_name) : NULL;

    return found ? *found : NULL;
}

void tg_tensor_list_free(tg_tensor_list *list)
{
    free(list->tensor);
    free(list->by_name);
    *list = (tg_tensor_list){0};
}

/* ---- values */

#define BLOCK ((size_t)512) /* values converted at once */

/* Convert n <= BLOCK values.  They may have any alignment; copied first, they can be converted with vectors.
 */
static void load_block(float *out, const unsigned char *in, size_t n, tg_dtype type)
{
    union {
        uint16_t bits[BLOCK];
        double real[BLOCK];
    } x;

    memcpy(&x, in, n * type.size);
    if (type.size == sizeof(double))
        for (size_t i = 0; i < n; i++)
            out[i] = (float)x.real[i];
    else if (type.kind == 'B')
        for (size_t i = 0; i < n; i++)
            out[i] = tg_float_from_bf16(x.bits[i]);
    else
        for (size_t i = 0; i < n; i++)
            out[i] = tg_float_from_half(x.bits[i]);
}

/* Values first .. first + n - 1 of groups. */
static void load_groups(float *out, const tg_stored *s, size_t first, size_t n)
{
    const unsigned char *const scales = s->at + s->array.count;
    float scale = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t at = first + i;

        if (i == 0 || at % s->group == 0)
            memcpy(&scale, scales + at / s->group * sizeof scale, sizeof scale);
        out[i] = (float)(int8_t)s->at[at] * scale;
    }
}

tg_status tg_stored_load(float *out, const tg_stored *s, size_t first, size_t n, tg_err *err)
{
    const tg_dtype type = s->array.dtype;
    const unsigned char *in = s->at + first * type.size;
    char text[TG_ARRAY_TEXT_MAX];

    assert(first <= s->array.count && n <= s->array.count - first);
    if (type.kind != 'f' && type.kind != 'B')
        return tg_fail(err, TG_EDATA, "%s has type %s, expected floating-point numbers", s->array.name,
                       tg_stored_type(text, s));
    if (s->group > 0)
        load_groups(out, s, first, n);
    else if (s->blocks)
        tg_blocks_decode(out, s->blocks, s->at, first, n);
    else if (tg_dtype_equal(type, TG_F32))
        memcpy(out, in, n * sizeof *out);
    else
        for (size_t i = 0; i < n; i += BLOCK)
            load_block(out + i, in + i * type.size, tg_size_min(BLOCK, n - i), type);
    return TG_OK;
}

const char *tg_stored_type(char text[TG_ARRAY_TEXT_MAX], const tg_stored *s)
{
    const tg_dtype type = s->array.dtype;

    if (s->blocks)
        return s->blocks->name;
    if (s->group > 0) {
        snprintf(text, TG_ARRAY_TEXT_MAX, "i8 in groups of %zu", s->group);
        return text;
    }
    if (type.kind == 'B' || type.kind == 'b')
        return type.kind == 'B' ? "bf16" : "bool";
    snprintf(text, TG_ARRAY_TEXT_MAX, "%c%zu", type.kind, 8 * type.size);
    return text;
}
