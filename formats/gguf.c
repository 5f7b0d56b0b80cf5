#include "formats/gguf.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/block_types.h"
#include "lib/base/size.h"

/* ---- bytes */

/* A place in the file, and what is being read there, for messages.  After the first failure nothing is read,
 * and numbers are 0. */
typedef struct cursor {
    const unsigned char *file;
    size_t n, at;
    const char *what; /* "value", "tensor" */
    uint64_t number;  /* of `of`, from 1; 0: before the first */
    uint64_t of;
    tg_status status;
    tg_err *err;
} cursor;

static void truncated(cursor *c, uint64_t wanted)
{
    char place[96] = "its header";

    if (c->status)
        return;
    if (c->number > 0)
        snprintf(place, sizeof place, "%s %llu of %llu", c->what, (unsigned long long)c->number,
                 (unsigned long long)c->of);
    c->status =
        tg_fail(c->err, TG_EDATA, "the GGUF file ends within %s: expected %llu bytes at byte %zu, got %zu",
                place, (unsigned long long)wanted, c->at, c->n - c->at);
}

/* TG_EDATA: prefix err's message with the place that is being read. */
static void in_place(cursor *c)
{
    char place[96];

    snprintf(place, sizeof place, "GGUF %s %llu", c->what, (unsigned long long)c->number);
    (void)tg_err_in(c->err, place);
    c->status = TG_EDATA;
}

static void refuse(cursor *c, const char *format, ...) TG_PRINTF(2, 3);

static void refuse(cursor *c, const char *format, ...)
{
    char message[256];
    va_list arguments;

    if (c->status)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    (void)tg_fail(c->err, TG_EDATA, "%s", message);
    in_place(c);
}

/* The little-endian number in the next n bytes, n <= 8. */
static uint64_t take_number(cursor *c, size_t n)
{
    uint64_t number = 0;

    if (c->n - c->at < n)
        truncated(c, n);
    if (c->status)
        return 0;
    memcpy(&number, c->file + c->at, n);
    c->at += n;
    return number;
}

static tg_span take_text(cursor *c)
{
    const uint64_t n = take_number(c, 8);
    const tg_span text = {(const char *)c->file + c->at, (size_t)n};

    if (n > c->n - c->at)
        truncated(c, n);
    if (c->status)
        return (tg_span){"", 0};
    c->at += text.n;
    return text;
}

/* ---- values */

static tg_gguf_type take_type(cursor *c)
{
    const uint64_t number = take_number(c, 4);

    if (number < TG_GGUF_TYPES)
        return (tg_gguf_type)number;
    refuse(c, "type %u, expected one from 0 to %d", (unsigned)number, TG_GGUF_TYPES - 1);
    return TG_GGUF_U8;
}

static tg_span take_key(cursor *c)
{
    const tg_span key = take_text(c);

    if (key.n == 0)
        refuse(c, "its key is empty");
    for (size_t i = 0; i < key.n; i++)
        if (key.p[i] <= 0x20 || key.p[i] >= 0x7F)
            refuse(c, "its key has the byte \\x%02X, expected printable ASCII",
                   (unsigned)(unsigned char)key.p[i]);
    return key;
}

/* Type and number of an array's elements. */
static void take_array(cursor *c, tg_gguf_value *v)
{
    uint64_t n;
    size_t each;

    v->type = take_type(c);
    n = take_number(c, 8);
    if (v->type == TG_GGUF_ARRAY) {
        refuse(c, "an array of arrays, which tg does not read");
        return;
    }
    each = v->type == TG_GGUF_TEXT ? 8 : tg_gguf_types[v->type].size; /* a text has at least its length */
    if (n > (c->n - c->at) / each)
        refuse(c, "an array of %llu elements, but only %zu bytes follow", (unsigned long long)n,
               c->n - c->at);
    v->array = true;
    v->n = (size_t)n;
}

static void pass_elements(cursor *c, tg_gguf_value *v)
{
    const size_t begin = c->at, size = tg_gguf_types[v->type].size;

    v->at = c->file + begin;
    if (size > 0 && v->n > (c->n - c->at) / size)
        truncated(c, size);
    if (c->status)
        return;
    c->at += v->n * size;
    for (size_t i = 0; size == 0 && i < v->n && !c->status; i++)
        (void)take_text(c);
    v->bytes = c->at - begin;
    for (size_t i = 0; v->type == TG_GGUF_BOOL && i < v->n; i++)
        if (v->at[i] > 1)
            refuse(c, "a truth value of %u, expected 0 or 1", v->at[i]);
}

static tg_gguf_value take_value(cursor *c)
{
    tg_gguf_value v = {.n = 1};

    v.key = take_key(c);
    v.type = take_type(c);
    if (v.type == TG_GGUF_ARRAY)
        take_array(c, &v);
    pass_elements(c, &v);
    return v;
}

static tg_status check_keys(const tg_gguf *g, tg_err *err)
{
    tg_span *sorted = malloc((g->n_values + 1) * sizeof *sorted);
    tg_status status = TG_OK;

    if (!sorted)
        return tg_fail_memory(err, g->n_values * sizeof *sorted, "the keys of a GGUF file");
    for (size_t i = 0; i < g->n_values; i++)
        sorted[i] = g->value[i].key;
    qsort(sorted, g->n_values, sizeof *sorted, tg_span_compare);
    for (size_t i = 1; !status && i < g->n_values; i++)
        if (tg_span_compare(&sorted[i - 1], &sorted[i]) == 0)
            status = tg_fail(err, TG_EDATA, "there are two GGUF values %.*s",
                             (int)tg_size_min(sorted[i].n, 80), sorted[i].p);
    free(sorted);
    return status;
}

static void take_values(cursor *c, tg_gguf *g, uint64_t count)
{
    const size_t least = 8 + 1 + 4 + 1; /* bytes of a value */

    if (c->status)
        return;
    if (count > (c->n - c->at) / least)
        c->status = tg_fail(c->err, TG_EDATA, "the GGUF file claims %llu values, but only %zu bytes follow",
                            (unsigned long long)count, c->n - c->at);
    else if (count > TG_GGUF_VALUES_MAX)
        c->status = tg_fail(c->err, TG_EDATA, "the GGUF file has %llu values, expected at most %d",
                            (unsigned long long)count, TG_GGUF_VALUES_MAX);
    else if (!(g->value = malloc(((size_t)count + 1) * sizeof *g->value)))
        c->status = tg_fail_memory(c->err, count * sizeof *g->value, "the values of a GGUF file");
    c->what = "value";
    c->of = count;
    for (c->number = 1; c->number <= count && !c->status; c->number++)
        g->value[g->n_values++] = take_value(c);
    if (!c->status)
        c->status = check_keys(g, c->err);
}

/* ---- tensors */

static const struct plain {
    uint32_t type;
    tg_dtype dtype;
} plain[] = {
    {0, {'f', 4}},  {1, {'f', 2}},  {24, {'i', 1}}, {25, {'i', 2}},
    {26, {'i', 4}}, {27, {'i', 8}}, {28, {'f', 8}}, {30, {'B', 2}},
};

/* Types that are not read, for the message. */
static const char *const other_types[] = {
    [4] = "q4_2",     [5] = "q4_3",    [9] = "q8_1",     [10] = "q2_k",  [11] = "q3_k",   [15] = "q8_k",
    [16] = "iq2_xxs", [17] = "iq2_xs", [18] = "iq3_xxs", [19] = "iq1_s", [20] = "iq4_nl", [21] = "iq3_s",
    [22] = "iq2_s",   [23] = "iq4_xs", [29] = "iq1_m",   [34] = "tq1_0", [35] = "tq2_0",  [39] = "mxfp4",
};
enum { OTHER_TYPES = sizeof other_types / sizeof other_types[0] };

/* Set type and size from the shape; `row` values are contiguous. */
static tg_status set_type(tg_stored *s, uint32_t type, size_t row, tg_err *err)
{
    const size_t n = sizeof plain / sizeof plain[0];
    const char *name = type < OTHER_TYPES ? other_types[type] : NULL;
    size_t i = 0;

    while (i < n && plain[i].type != type)
        i++;
    s->blocks = tg_blocks_numbered(type);
    if (i == n && !s->blocks)
        return tg_fail(err, TG_EDATA, "%s has type %u%s%s, which tg does not read", s->array.name,
                       (unsigned)type, name ? ", " : "", name ? name : "");
    s->array.dtype = i < n ? plain[i].dtype : TG_F32;
    if (!tg_array_measure(&s->array))
        return tg_fail(err, TG_EDATA, "%s has a shape that is too large for memory", s->array.name);
    s->stored = s->array.bytes;
    if (!s->blocks)
        return TG_OK;
    if (row % s->blocks->values != 0)
        return tg_fail(err, TG_EDATA, "%s has rows of %zu values, expected a multiple of %zu for %s",
                       s->array.name, row, s->blocks->values, s->blocks->name);
    s->stored = s->array.count / s->blocks->values * s->blocks->bytes;
    return TG_OK;
}

/* The dimensions, innermost first. */
static void take_shape(cursor *c, tg_array *a)
{
    const uint64_t ndim = take_number(c, 4);

    if (ndim > TG_GGUF_DIMS_MAX) {
        c->status = tg_fail(c->err, TG_EDATA, "%s has %u dimensions, expected at most %d", a->name,
                            (unsigned)ndim, TG_GGUF_DIMS_MAX);
        return;
    }
    a->ndim = (size_t)ndim;
    for (size_t i = a->ndim; i-- > 0 && !c->status;) {
        const uint64_t dim = take_number(c, 8);

        a->shape[i] = (size_t)dim;
        /* unreached: dim > SIZE_MAX, where a size_t has 64 bits */
        if (!c->status && (dim == 0 || dim > SIZE_MAX))
            c->status = tg_fail(c->err, TG_EDATA, "%s has a dimension of %llu values", a->name,
                                (unsigned long long)dim);
    }
}

/* A tensor's description; its offset is still relative to the data. */
static tg_stored take_tensor(cursor *c)
{
    const tg_span name = take_text(c);
    tg_stored s = {0};
    uint32_t type;

    if (name.n > TG_GGUF_NAME_MAX)
        refuse(c, "its name has %zu bytes, expected at most %d", name.n, TG_GGUF_NAME_MAX);
    else if (!c->status && tg_stored_set_name(&s, name.p, name.n, c->err))
        in_place(c);
    take_shape(c, &s.array);
    type = (uint32_t)take_number(c, 4);
    s.offset = take_number(c, 8);
    if (!c->status)
        c->status = set_type(&s, type, s.array.ndim > 0 ? s.array.shape[s.array.ndim - 1] : 1, c->err);
    return s;
}

static void take_tensors(cursor *c, tg_tensor_list *list, uint64_t count)
{
    if (!c->status && count > TG_NAMES_MAX)
        c->status = tg_fail(c->err, TG_EDATA, "the GGUF file has %llu tensors, expected at most %d",
                            (unsigned long long)count, TG_NAMES_MAX);
    c->what = "tensor";
    c->of = count;
    for (c->number = 1; c->number <= count && !c->status; c->number++) {
        const tg_stored s = take_tensor(c);

        if (!c->status)
            c->status = tg_tensor_list_add(list, &s, c->err);
    }
}

/* ---- data */

/* Whether the tensor lies within the `bytes` of the data.  Sets its place in the file. */
static tg_status place_tensor(tg_stored *s, const tg_gguf *g, const unsigned char *file, size_t bytes,
                              tg_err *err)
{
    if (s->offset % g->alignment != 0)
        return tg_fail(err, TG_EDATA, "%s has the offset %llu, expected a multiple of %zu", s->array.name,
                       (unsigned long long)s->offset, g->alignment);
    if (s->offset > bytes || s->stored > bytes - s->offset)
        return tg_fail(err, TG_EDATA, "%s: %zu bytes at offset %llu of the data, which has %zu",
                       s->array.name, s->stored, (unsigned long long)s->offset, bytes);
    s->offset += g->data;
    s->at = file + s->offset;
    s->array.data = s->blocks ? NULL : s->at;
    return TG_OK;
}

/* Whether each tensor of an arranged list begins where the one before it ends, and the file with the last;
 * the padding after that may be missing. */
static tg_status check_contiguous(const tg_tensor_list *list, const tg_gguf *g, size_t n, tg_err *err)
{
    uint64_t at = g->data;

    for (size_t i = 0; i < list->n; i++) {
        const tg_stored *s = &list->tensor[i];

        if (s->offset != at)
            return tg_fail(err, TG_EDATA, "%s is at %llu, expected %llu, where what is before it ends",
                           s->array.name, (unsigned long long)s->offset, (unsigned long long)at);
        at += tg_round_up(s->stored, g->alignment);
    }
    if (n > at)
        return tg_fail(err, TG_EDATA, "%llu bytes follow the last tensor, which ends at byte %llu",
                       (unsigned long long)(n - at), (unsigned long long)at);
    return TG_OK;
}

static tg_status place_tensors(tg_tensor_list *list, tg_gguf *g, const cursor *c, tg_err *err)
{
    const size_t begin = tg_round_up(c->at, g->alignment);
    tg_status status;

    g->data = begin;
    for (size_t i = 0; i < list->n; i++)
        if ((status = place_tensor(&list->tensor[i], g, c->file, begin < c->n ? c->n - begin : 0, err)))
            return status;
    if ((status = tg_tensor_list_arrange(list, err)))
        return status;
    return check_contiguous(list, g, c->n, err);
}

/* ---- the file */

#define ALIGNMENT_MAX ((size_t)1 << 20)

static void set_alignment(cursor *c, tg_gguf *g)
{
    static const char key[] = "general.alignment";

    g->alignment = TG_GGUF_ALIGNMENT;
    if (c->status || !tg_gguf_find(g, key))
        return;
    g->alignment = tg_gguf_get_size(g, key);
    c->status = g->status;
    if (!c->status &&
        (g->alignment == 0 || g->alignment > ALIGNMENT_MAX || (g->alignment & (g->alignment - 1)) != 0))
        c->status = tg_fail(c->err, TG_EDATA, "%s is %zu, expected a power of two, at most %zu", key,
                            g->alignment, ALIGNMENT_MAX);
}

static void take_version(cursor *c, tg_gguf *g)
{
    const uint64_t magic = take_number(c, 4);

    if (!c->status && memcmp(&magic, "GGUF", 4) != 0)
        c->status = tg_fail(c->err, TG_EDATA, "the file does not begin with GGUF");
    g->version = (uint32_t)take_number(c, 4);
    if (!c->status && g->version != 2 && g->version != 3)
        c->status = tg_fail(c->err, TG_EDATA, "GGUF version %u%s, expected 2 or 3", (unsigned)g->version,
                            g->version > 0 && (g->version & 0xFFFF) == 0 ? " (a big-endian file?)" : "");
}

tg_status tg_gguf_read(tg_tensor_list *list, tg_gguf *g, const void *file, size_t n, tg_err *err)
{
    cursor c = {.file = file, .n = n, .err = err};
    uint64_t tensors, values;

    assert(list->n == 0);
    *g = (tg_gguf){.err = err};
    take_version(&c, g);
    tensors = take_number(&c, 8);
    values = take_number(&c, 8);
    take_values(&c, g, values);
    set_alignment(&c, g);
    take_tensors(&c, list, tensors);
    return c.status ? c.status : place_tensors(list, g, &c, err);
}

void tg_gguf_free(tg_gguf *g)
{
    free(g->value);
    *g = (tg_gguf){0};
}
