#include "formats/safetensors.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json.h"
#include "formats/sink.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"

#define LENGTH ((size_t)8) /* bytes before the JSON */
#define ALIGN ((size_t)64) /* of the data's begin in what is written */

#ifndef FILES_MAX /* tests/fuzz/limits.h */
#define FILES_MAX 1024
#endif
#define FILE_NAME_MAX 255 /* bytes */

static const struct type {
    const char *name;
    tg_dtype dtype;
} types[] = {
    {"F32", {'f', 4}}, {"F16", {'f', 2}}, {"BF16", {'B', 2}}, {"F64", {'f', 8}}, {"I64", {'i', 8}},
    {"I32", {'i', 4}}, {"I16", {'i', 2}}, {"I8", {'i', 1}},   {"U64", {'u', 8}}, {"U32", {'u', 4}},
    {"U16", {'u', 2}}, {"U8", {'u', 1}},  {"BOOL", {'b', 1}},
};

#define TYPES (sizeof types / sizeof types[0])

/* The format's name of a type, "F32"; NULL: it has none. */
static const char *type_name(tg_dtype dtype)
{
    for (size_t i = 0; i < TYPES; i++)
        if (tg_dtype_equal(types[i].dtype, dtype))
            return types[i].name;
    return NULL;
}

/* ---- metadata */

/* A copy of a text, NUL-terminated, to be freed; NULL after a failure.  TG_EDATA: it contains a NUL. */
static char *copy_text(tg_json *j, tg_span text, const char *what)
{
    char *copy;

    if (text.n > 0 && memchr(text.p, '\0', text.n))
        (void)tg_json_fail(j, "the text has a NUL");
    if (j->status)
        return NULL;
    if (!(copy = malloc(text.n + 1))) {
        j->status = tg_fail_memory(j->err, text.n + 1, what);
        return NULL;
    }
    memcpy(copy, text.p, text.n);
    copy[text.n] = '\0';
    return copy;
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

/* Of structs that begin with a text. */
static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void read_metadata(tg_metadata *pairs, tg_json *j)
{
    tg_span text;

    tg_json_enter(j, TG_JSON_OBJECT);
    while (tg_json_key(j, &text)) {
        struct tg_metadata_pair pair = {0};

        if (pairs->n == TG_NAMES_MAX)
            (void)tg_json_fail(j, "more than %d metadata", TG_NAMES_MAX);
        else
            j->status = tg_grow(&pairs->pair, &pairs->capacity, pairs->n + 1, sizeof *pairs->pair,
                                "the metadata", j->err);
        if (!(pair.key = copy_text(j, text, "a text")))
            return;
        text = tg_json_get_text(j);
        pair.value = copy_text(j, text, "a text");
        pairs->pair[pairs->n++] = pair;
    }
    if (j->status)
        return;
    if (pairs->n > 0)
        qsort(pairs->pair, pairs->n, sizeof *pairs->pair, compare_texts);
    for (size_t i = 1; i < pairs->n; i++)
        if (compare_texts(&pairs->pair[i - 1], &pairs->pair[i]) == 0)
            j->status = tg_fail(j->err, TG_EDATA, "__metadata__ has a key twice");
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

static void read_type(tg_dtype *dtype, const char *name, tg_json *j)
{
    const tg_span text = tg_json_get_text(j);

    for (size_t i = 0; i < TYPES; i++)
        if (tg_span_is(text, types[i].name)) {
            *dtype = types[i].dtype;
            return;
        }
    (void)tg_json_fail(j, "%s has type \"%.*s\", which this version does not know", name,
                       (int)tg_size_min(text.n, 16), text.p);
}

/* An array of at most max sizes; returns their number. */
static size_t read_sizes(size_t *sizes, size_t max, const char *name, tg_json *j)
{
    size_t n = 0;

    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element(j))
        if (n == max)
            (void)tg_json_fail(j, "%s has more than %zu numbers", name, max);
        else
            sizes[n++] = tg_json_get_size(j);
    return n;
}

static tg_status read_tensor(struct reading *r, tg_stored *s, tg_json *j)
{
    static const char *const names[] = {"dtype", "shape", "data_offsets"};
    tg_array *const a = &s->array;
    size_t at[3], place[2] = {0}, n, after, value;

    tg_json_members(j, names, 3, at);
    for (size_t i = 0; i < 3; i++)
        if (at[i] == 0)
            (void)tg_json_fail(j, "%s has no \"%s\"", a->name, names[i]);
    value = j->value;
    after = tg_json_go(j, at[0]);
    read_type(&a->dtype, a->name, j);
    (void)tg_json_go(j, at[1]);
    a->ndim = read_sizes(a->shape, TG_DIMS_MAX, a->name, j);
    (void)tg_json_go(j, at[2]);
    n = read_sizes(place, 2, a->name, j);
    (void)tg_json_go(j, after);
    if (j->status)
        return j->status;
    j->value = value;
    if (n != 2)
        return tg_json_fail(j, "%s has %zu data_offsets, expected 2", a->name, n);
    if (!tg_array_measure(a))
        return tg_fail(j->err, TG_EDATA, "%s: its shape has more elements than memory", a->name);
    if (place[0] > place[1] || place[1] > r->n)
        return tg_fail(j->err, TG_EDATA, "%s: data_offsets %zu to %zu, expected a place in %zu bytes of data",
                       a->name, place[0], place[1], r->n);
    if (place[1] - place[0] != a->bytes)
        return tg_fail(j->err, TG_EDATA, "%s: data_offsets have room for %zu bytes, the shape needs %zu",
                       a->name, place[1] - place[0], a->bytes);
    s->stored = a->bytes;
    s->at = r->data + place[0];
    a->data = s->at;
    s->offset = r->offset + place[0];
    return tg_tensor_list_add(r->list, s, j->err);
}

static void read_member(struct reading *r, tg_json *j, tg_span key)
{
    tg_stored s = {0};

    if (tg_span_is(key, "__metadata__")) {
        if (r->has_metadata)
            (void)tg_json_fail(j, "__metadata__ occurs twice");
        r->has_metadata = true;
        read_metadata(r->metadata, j);
    } else if (tg_stored_set_name(&s, key.p, key.n, j->err)) {
        (void)tg_json_err_in(j);
    } else {
        j->status = read_tensor(r, &s, j);
    }
}

static tg_status read_header(struct reading *r, const unsigned char *text, size_t n, tg_err *err)
{
    tg_json j;
    tg_span key;

    tg_json_open(&j, text, n, err);
    tg_json_enter(&j, TG_JSON_OBJECT);
    while (tg_json_key(&j, &key))
        read_member(r, &j, key);
    tg_json_end(&j);
    return tg_json_close(&j);
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
    uint64_t length;
    tg_status status;

    *list = (tg_tensor_list){0};
    *metadata = (tg_metadata){0};
    if (n < LENGTH)
        return tg_fail(err, TG_EDATA, "truncated: expected %zu bytes of the header's length, got %zu", LENGTH,
                       n);
    length = tg_get64(p);
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

/* ---- the index of a checkpoint in several files */

void tg_shards_free(tg_shards *s)
{
    for (size_t i = 0; i < s->n_tensors; i++)
        free(s->tensor[i].name);
    for (size_t i = 0; i < s->n_files; i++)
        free(s->file[i]);
    free(s->tensor);
    free(s->file);
    *s = (tg_shards){0};
}

/* A file in the index's own directory, not hidden. */
static bool is_plain_file_name(tg_span name)
{
    return name.n > 0 && name.n <= FILE_NAME_MAX && name.p[0] != '.' && !memchr(name.p, '/', name.n) &&
           !memchr(name.p, '\0', name.n);
}

/* The file of that name; NULL after a failure.  Most tensors are in the file of the tensor before them, so
 * the last file is compared first. */
static const char *find_file(tg_shards *s, tg_json *j, tg_span name)
{
    for (size_t i = s->n_files; i-- > 0;)
        if (tg_span_is(name, s->file[i]))
            return s->file[i];
    if (!is_plain_file_name(name))
        (void)tg_json_fail(j, "expected the name of a file in the same directory");
    else if (s->n_files == FILES_MAX)
        (void)tg_json_fail(j, "more than %d files", FILES_MAX);
    else if (!s->file && !(s->file = calloc(FILES_MAX, sizeof *s->file)))
        j->status = tg_fail_memory(j->err, FILES_MAX * sizeof *s->file, "the list of files");
    if (j->status || !(s->file[s->n_files] = copy_text(j, name, "a name")))
        return NULL;
    return s->file[s->n_files++];
}

static void read_map(tg_shards *s, tg_json *j)
{
    tg_span text;

    tg_json_enter(j, TG_JSON_OBJECT);
    while (tg_json_key(j, &text)) {
        if (text.n > TG_NAME_MAX || (text.n > 0 && memchr(text.p, '\0', text.n)))
            (void)tg_json_fail(j, "a tensor's name has more than %d bytes, or a NUL", TG_NAME_MAX);
        else if (s->n_tensors == TG_NAMES_MAX)
            (void)tg_json_fail(j, "more than %d tensors", TG_NAMES_MAX);
        else
            j->status = tg_grow(&s->tensor, &s->capacity, s->n_tensors + 1, sizeof *s->tensor,
                                "the list of tensors", j->err);
        if (j->status || !(s->tensor[s->n_tensors].name = copy_text(j, text, "a name")))
            return;
        s->tensor[s->n_tensors++].file = NULL;
        text = tg_json_get_text(j);
        s->tensor[s->n_tensors - 1].file = find_file(s, j, text);
    }
}

static tg_status arrange(tg_shards *s, tg_err *err)
{
    if (s->n_tensors == 0)
        return tg_fail(err, TG_EDATA, "weight_map is empty");
    qsort(s->tensor, s->n_tensors, sizeof *s->tensor, compare_texts);
    for (size_t i = 1; i < s->n_tensors; i++)
        if (compare_texts(&s->tensor[i - 1], &s->tensor[i]) == 0)
            return tg_fail(err, TG_EDATA, "weight_map has a tensor twice");
    return TG_OK;
}

tg_status tg_shards_read(tg_shards *shards, const void *text, size_t n, tg_err *err)
{
    static const char *const names[] = {"weight_map"};
    tg_json j;
    size_t at;

    *shards = (tg_shards){0};
    tg_json_open(&j, text, n, err);
    tg_json_members(&j, names, 1, &at);
    tg_json_end(&j);
    if (!j.status && at == 0)
        j.status = tg_fail(err, TG_EDATA, "there is no \"weight_map\"");
    (void)tg_json_go(&j, at);
    read_map(shards, &j);
    if (!j.status)
        j.status = arrange(shards, err);
    return tg_json_close(&j);
}

/* ---- writing */

static void put_tensor(tg_sink *sink, const tg_array *a, size_t begin)
{
    tg_sink_puts(sink, ",\"");
    tg_json_put(sink, a->name, strlen(a->name));
    tg_sink_puts(sink, "\":{\"dtype\":\"");
    tg_sink_puts(sink, type_name(a->dtype));
    tg_sink_puts(sink, "\",\"shape\":[");
    for (size_t i = 0; i < a->ndim; i++) {
        tg_sink_puts(sink, i > 0 ? "," : "");
        tg_sink_put_size(sink, a->shape[i]);
    }
    tg_sink_puts(sink, "],\"data_offsets\":[");
    tg_sink_put_size(sink, begin);
    tg_sink_puts(sink, ",");
    tg_sink_put_size(sink, begin + a->bytes);
    tg_sink_puts(sink, "]}");
}

/* Put the JSON; *bytes of data follow. */
static tg_status put_json(tg_sink *sink, size_t *bytes, const tg_array *arrays, size_t n, tg_err *err)
{
    *bytes = 0;
    tg_sink_puts(sink, "{\"__metadata__\":{\"format\":\"pt\"}");
    for (size_t i = 0; i < n; i++) {
        tg_array a = arrays[i];
        const size_t begin = *bytes;

        if (!type_name(a.dtype))
            return tg_fail(err, TG_EUSAGE, "%s: safetensors has no type %c%zu", a.name, a.dtype.kind,
                           a.dtype.size);
        if (!tg_array_measure(&a) || !tg_size_add(bytes, begin, a.bytes))
            return tg_fail(err, TG_EUSAGE, "%s: the sizes exceed the address space", a.name);
        put_tensor(sink, &a, begin);
    }
    tg_sink_puts(sink, "}");
    return TG_OK;
}

/* The header begins with its length: it is put twice, the first time only to be measured. */
tg_status tg_safetensors_begin(tg_safetensors_writer *w, int fd, const tg_array *arrays, size_t n,
                               tg_err *err)
{
    tg_sink sink = {.dry = true};
    uint64_t used, length;
    size_t bytes;
    tg_status status = put_json(&sink, &bytes, arrays, n, err);

    *w = (tg_safetensors_writer){fd, bytes};
    if (status)
        return status;
    used = LENGTH + sink.done + sink.n;
    length = tg_round_up(used, ALIGN) - LENGTH;
    /* unreached: a model has at most TG_NAMES_MAX tensors */
    if (length > TG_SAFETENSORS_HEADER_MAX)
        return tg_fail(err, TG_EUSAGE, "the header would exceed %zu bytes", TG_SAFETENSORS_HEADER_MAX);
    sink = (tg_sink){.fd = fd};
    tg_sink_put(&sink, &length, LENGTH);
    (void)put_json(&sink, &bytes, arrays, n, err);
    for (; used % ALIGN != 0; used++)
        tg_sink_puts(&sink, " ");
    return tg_sink_flush(&sink, err);
}

tg_status tg_safetensors_put(tg_safetensors_writer *w, const void *data, size_t bytes, tg_err *err)
{
    assert(bytes <= w->left);
    w->left -= bytes;
    return tg_write_all(w->fd, data, bytes, err);
}

void tg_safetensors_end(const tg_safetensors_writer *w)
{
    assert(w->left == 0);
    (void)w;
}
