#include "formats/safetensors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"

#define LENGTH ((size_t)8) /* bytes before the JSON */

static const struct type {
    const char *name;
    tg_dtype dtype;
} types[] = {
    {"F32", {'f', 4}}, {"F16", {'f', 2}}, {"BF16", {'B', 2}}, {"F64", {'f', 8}}, {"I64", {'i', 8}},
    {"I32", {'i', 4}}, {"I16", {'i', 2}}, {"I8", {'i', 1}},   {"U64", {'u', 8}}, {"U32", {'u', 4}},
    {"U16", {'u', 2}}, {"U8", {'u', 1}},  {"BOOL", {'b', 1}},
};

#define TYPES (sizeof types / sizeof types[0])

const char *tg_safetensors_type(tg_dtype dtype)
{
    for (size_t i = 0; i < TYPES; i++)
        if (tg_dtype_equal(types[i].dtype, dtype))
            return types[i].name;
    return NULL;
}

/* ---- metadata */

/* A copy of a text, NUL-terminated, to be freed.  TG_EDATA: it contains a NUL. */
static tg_status copy_text(char **copy, tg_json *j, tg_json_text text, tg_err *err)
{
    *copy = NULL;
    if (text.n > 0 && memchr(text.p, '\0', text.n))
        return tg_json_fail(j, err, "the text has a NUL");
    if (!(*copy = malloc(text.n + 1)))
        return tg_fail_memory(err, text.n + 1, "a text");
    memcpy(*copy, text.p, text.n);
    (*copy)[text.n] = '\0';
    return TG_OK;
}

void tg_metadata_free(tg_metadata *pairs)
{
    for (size_t i = 0; i < pairs->n; i++) {
        free(pairs->pair[i].key);
        free(pairs->pair[i].value);
    }
    free(pairs->pair);
    *pairs = (tg_metadata){0};
}

/* Append a pair with only its key. */
static tg_status add_key(tg_metadata *pairs, tg_json *j, tg_json_text key, tg_err *err)
{
    char *copy;
    tg_status status;

    if (pairs->n == TG_NAMES_MAX)
        return tg_json_fail(j, err, "more than %d metadata", TG_NAMES_MAX);
    if ((status = tg_grow(&pairs->pair, &pairs->capacity, pairs->n + 1, sizeof *pairs->pair, "the metadata",
                          err)) ||
        (status = copy_text(&copy, j, key, err)))
        return status;
    pairs->pair[pairs->n++] = (struct tg_metadata_pair){copy, NULL};
    return TG_OK;
}

static int compare_pairs(const void *a, const void *b)
{
    const struct tg_metadata_pair *p = a, *q = b;

    return strcmp(p->key, q->key);
}

static tg_status read_metadata(tg_metadata *pairs, tg_json *j, tg_err *err)
{
    tg_json_text text;
    bool more;
    tg_status status = tg_json_enter(j, TG_JSON_OBJECT, err);

    while (!status && !(status = tg_json_key(j, &text, &more, err)) && more)
        if (!(status = add_key(pairs, j, text, err)) && !(status = tg_json_get_text(j, &text, err)))
            status = copy_text(&pairs->pair[pairs->n - 1].value, j, text, err);
    if (status)
        return status;
    if (pairs->n > 0)
        qsort(pairs->pair, pairs->n, sizeof *pairs->pair, compare_pairs);
    for (size_t i = 1; i < pairs->n; i++)
        if (compare_pairs(&pairs->pair[i - 1], &pairs->pair[i]) == 0)
            return tg_fail(err, TG_EDATA, "__metadata__ has a key twice");
    return TG_OK;
}

/* ---- the directory */

/* What the header is read into, and the data that it describes. */
struct reading {
    tg_tensor_list *list;
    tg_metadata *metadata;
    bool has_metadata;
    const unsigned char *data; /* [n] */
    size_t n;
    uint64_t offset; /* of the data in the file */
};

static tg_status read_type(tg_dtype *dtype, const char *name, tg_json *j, tg_err *err)
{
    tg_json_text text;
    tg_status status = tg_json_get_text(j, &text, err);

    if (status)
        return status;
    for (size_t i = 0; i < TYPES; i++)
        if (tg_json_is(text, types[i].name)) {
            *dtype = types[i].dtype;
            return TG_OK;
        }
    return tg_json_fail(j, err, "%s has type \"%.*s\", which this version does not know", name,
                        (int)tg_size_min(text.n, 16), text.p);
}

/* An array of at most max sizes. */
static tg_status read_sizes(size_t *sizes, size_t *n, size_t max, const char *name, tg_json *j, tg_err *err)
{
    bool more;
    tg_status status = tg_json_enter(j, TG_JSON_ARRAY, err);

    /* unreached: an element that fails: tg_json_members() has passed the array */
    for (*n = 0; !status && !(status = tg_json_element(j, &more, err)) && more; ++*n) {
        if (*n == max)
            return tg_json_fail(j, err, "%s has more than %zu numbers", name, max);
        status = tg_json_get_size(j, &sizes[*n], err);
    }
    return status;
}

/* The three members of a tensor, whose values begin at these offsets. */
static tg_status read_members(tg_stored *s, size_t place[2], const size_t at[3], const tg_json *j,
                              tg_err *err)
{
    tg_json type, shape, offsets;
    size_t n;
    tg_status status;

    tg_json_open_at(&type, j, at[0]);
    tg_json_open_at(&shape, j, at[1]);
    tg_json_open_at(&offsets, j, at[2]);
    if (!(status = read_type(&s->array.dtype, s->array.name, &type, err)) &&
        !(status = read_sizes(s->array.shape, &s->array.ndim, TG_DIMS_MAX, s->array.name, &shape, err)) &&
        !(status = read_sizes(place, &n, 2, s->array.name, &offsets, err)) && n != 2)
        status = tg_json_fail(j, err, "%s has %zu data_offsets, expected 2", s->array.name, n);
    tg_json_close(&type);
    tg_json_close(&shape);
    tg_json_close(&offsets);
    return status;
}

static tg_status read_tensor(struct reading *r, tg_stored *s, tg_json *j, tg_err *err)
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    size_t at[3], place[2];
    tg_status status = tg_json_members(j, names, 3, at, err);

    if (status)
        return status;
    for (size_t i = 0; i < 3; i++)
        if (at[i] == 0)
            return tg_json_fail(j, err, "%s has no \"%s\"", s->array.name, names[i]);
    if ((status = read_members(s, place, at, j, err)))
        return status;
    if (!tg_array_measure(&s->array))
        return tg_fail(err, TG_EDATA, "%s: its shape has more elements than memory", s->array.name);
    if (place[0] > place[1] || place[1] > r->n)
        return tg_fail(err, TG_EDATA, "%s: data_offsets %zu to %zu, expected a place in %zu bytes of data",
                       s->array.name, place[0], place[1], r->n);
    if (place[1] - place[0] != s->array.bytes)
        return tg_fail(err, TG_EDATA, "%s: data_offsets have room for %zu bytes, the shape needs %zu",
                       s->array.name, place[1] - place[0], s->array.bytes);
    s->stored = s->array.bytes;
    s->at = r->data + place[0];
    s->array.data = s->at;
    s->offset = r->offset + place[0];
    return tg_tensor_list_add(r->list, s, err);
}

static tg_status read_member(struct reading *r, tg_json *j, tg_json_text key, tg_err *err)
{
    tg_stored s = {0};

    if (tg_json_is(key, "__metadata__")) {
        if (r->has_metadata)
            return tg_json_fail(j, err, "__metadata__ occurs twice");
        r->has_metadata = true;
        return read_metadata(r->metadata, j, err);
    }
    if (tg_stored_set_name(&s, key.p, key.n, err))
        return tg_json_err_in(j, err);
    return read_tensor(r, &s, j, err);
}

static tg_status read_header(struct reading *r, const unsigned char *text, size_t n, tg_err *err)
{
    tg_json j;
    tg_json_text key;
    bool more;
    tg_status status;

    tg_json_open(&j, text, n);
    status = tg_json_enter(&j, TG_JSON_OBJECT, err);
    while (!status && !(status = tg_json_key(&j, &key, &more, err)) && more)
        status = read_member(r, &j, key, err);
    if (!status)
        status = tg_json_end(&j, err);
    tg_json_close(&j);
    return status;
}

/* Every byte of the data belongs to a tensor, and to one only. */
static tg_status check_data(const struct reading *r, tg_err *err)
{
    uint64_t end = r->offset;

    for (size_t i = 0; i < r->list->n; i++) {
        const tg_stored *s = &r->list->tensor[i];

        if (s->offset != end)
            return tg_fail(err, TG_EDATA, "%s: its data begin at offset %llu of the file, expected %llu",
                           s->array.name, (unsigned long long)s->offset, (unsigned long long)end);
        end += s->stored;
    }
    if (end != r->offset + r->n)
        return tg_fail(err, TG_EDATA, "the tensors end at offset %llu, the file at %llu",
                       (unsigned long long)end, (unsigned long long)(r->offset + r->n));
    return TG_OK;
}

tg_status tg_safetensors_read(tg_tensor_list *list, tg_metadata *metadata, const void *file, size_t n,
                              tg_err *err)
{
    const unsigned char *p = file;
    struct reading r = {.list = list, .metadata = metadata};
    uint64_t length = 0;
    tg_status status;

    *list = (tg_tensor_list){0};
    *metadata = (tg_metadata){0};
    if (n < LENGTH)
        return tg_fail(err, TG_EDATA, "truncated: expected %zu bytes of the header's length, got %zu", LENGTH,
                       n);
    for (size_t i = LENGTH; i-- > 0;)
        length = length << 8 | p[i];
    if (length > TG_SAFETENSORS_HEADER_MAX)
        return tg_fail(err, TG_EDATA, "the header has %llu bytes, expected at most %zu",
                       (unsigned long long)length, TG_SAFETENSORS_HEADER_MAX);
    if (length > n - LENGTH)
        return tg_fail(err, TG_EDATA, "truncated: expected %llu bytes of the header, got %zu",
                       (unsigned long long)length, n - LENGTH);
    r.offset = LENGTH + length;
    r.data = p + LENGTH + length;
    r.n = n - LENGTH - (size_t)length;
    if ((status = read_header(&r, p + LENGTH, (size_t)length, err)) ||
        (status = tg_tensor_list_arrange(list, err)))
        return status;
    return check_data(&r, err);
}
