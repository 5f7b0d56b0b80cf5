#include "formats/archive.h"

#include <stdio.h>
#include <string.h>

#include "formats/npy.h"
#include "formats/zip.h"
#include "lib/base/choice.h"
#include "lib/base/size.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are written as they are in memory: the machine must be little-endian"
#endif

#define SUFFIX 4 /* bytes of ".npy" */

tg_status tg_archive_sniff(tg_source *source, bool *archive, tg_err *err)
{
    tg_status status = tg_source_peek(source, 4, err);

    *archive = !status && tg_zip_magic(source->next, source->ready);
    return status;
}

bool tg_archive_begins(const void *first, size_t n, const char *kind)
{
    const unsigned char *const p = first;
    size_t at = TG_ZIP_LOCAL; /* of the .npy header, then of what follows it */

    if (!tg_zip_magic(first, n) || n < at)
        return false;
    at += (size_t)tg_get16(p + 26) + tg_get16(p + 28);
    if (n < at + TG_NPY_PREFIX)
        return false;
    at += 10 + (size_t)tg_get16(p + at + 8);
    return at + strlen(kind) <= n && memcmp(p + at, kind, strlen(kind)) == 0;
}

/* ---- reading */

tg_status tg_archive_open(tg_archive_reader **reader, int fd, tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, fd, err);

    *reader = NULL;
    return status ? status : tg_archive_open_source(reader, &source, err);
}

/* Copy a member's name without ".npy". */
static void take_name(tg_archive_reader *r, const tg_zip_entry *e)
{
    const size_t n = strlen(e->name);

    if (strcmp(e->name, "data.pkl") == 0 || (n >= 9 && strcmp(e->name + n - 9, "/data.pkl") == 0))
        tg_zip_fail(r, "not an .npz archive: this is a PyTorch file (member \"%s\")", e->name);
    else if (n <= SUFFIX || strcmp(e->name + n - SUFFIX, ".npy") != 0)
        tg_zip_fail(r, "not an .npz archive: its member \"%s\" is not an .npy array", e->name);
    if (r->status)
        return;
    memcpy(r->name, e->name, n - SUFFIX);
    r->name[n - SUFFIX] = '\0';
}

/* Read the .npy header; returns its length.  In a canonical archive it must equal what tg writes. */
static size_t take_header(tg_archive_reader *r, tg_array *a, tg_err *err)
{
    unsigned char head[TG_NPY_HEAD_MAX], want[TG_NPY_FORMAT_MAX];
    char where[TG_NAME_MAX + 16];
    size_t length = 0;

    if (tg_zip_read(r, head, TG_NPY_PREFIX, err))
        return 0;
    if (tg_npy_length(head, &length, err) ||
        (!tg_zip_read(r, head + TG_NPY_PREFIX, length - TG_NPY_PREFIX, err) &&
         tg_npy_parse(head, length, a, err))) {
        snprintf(where, sizeof where, "array \"%s\"", r->name);
        r->status = tg_err_in(err, where);
    }
    if (!r->status && r->canonical && (tg_npy_format(want, a) != length || memcmp(want, head, length) != 0))
        tg_zip_fail(r, "array \"%s\": its .npy header differs from what tg writes", r->name);
    return length;
}

static void begin_array(tg_archive_reader *r, const tg_zip_entry *e, tg_array *a, tg_err *err)
{
    size_t length = 0;

    take_name(r, e);
    if (!r->status)
        length = take_header(r, a, err);
    if (r->status || tg_zip_expect(r, (uint64_t)length + a->bytes, err) ||
        tg_zip_map(r, &a->data, a->bytes, err))
        return;
    memcpy(a->name, r->name, sizeof a->name);
    r->data = a->data;
    r->left = a->bytes;
}

tg_status tg_archive_next(tg_archive_reader *r, tg_array *array, tg_archive_event *event, tg_err *err)
{
    const tg_zip_entry *e;

    *array = (tg_array){0};
    if (r->open && (tg_zip_read(r, NULL, r->left, err) || tg_zip_verify(r, err))) /* what was not read */
        return r->status;
    if (!tg_zip_next(r, &e, event, err) && *event == TG_ARCHIVE_ARRAY)
        begin_array(r, e, array, err);
    return r->status;
}

tg_status tg_archive_read(tg_archive_reader *r, void *dst, size_t bytes, tg_err *err)
{
    tg_status status;

    if (bytes > r->left)
        return tg_fail(err, TG_EUSAGE, "array \"%s\": %zu bytes requested, %zu left", r->name, bytes,
                       r->left);
    if (bytes == 0)
        return TG_OK;
    if (r->data) {
        memcpy(dst, r->data, bytes);
        r->data += bytes;
        r->left -= bytes;
        return TG_OK;
    }
    status = tg_zip_read(r, dst, bytes, err);
    r->left -= bytes;
    if (!status && r->left == 0)
        status = tg_zip_verify(r, err);
    return status;
}

/* ---- scalars */

static tg_status not_a(const tg_array *a, const char *what, tg_err *err)
{
    char dtype[TG_ARRAY_TEXT_MAX], shape[TG_ARRAY_TEXT_MAX];

    return tg_fail(err, TG_EDATA, "array \"%s\": expected %s, got %s of shape %s", a->name, what,
                   tg_dtype_text(dtype, a->dtype), tg_shape_text(shape, a->ndim, a->shape));
}

tg_status tg_archive_get_size(tg_archive_reader *r, const tg_array *a, size_t *value, tg_err *err)
{
    const size_t unused = 64 - 8 * tg_size_min(a->dtype.size, 8);
    uint64_t bits = 0;
    tg_status status;

    if (a->ndim != 0 || (a->dtype.kind != 'i' && a->dtype.kind != 'u'))
        return not_a(a, "one integer", err);
    if ((status = tg_archive_read(r, &bits, a->bytes, err)))
        return status;
    if (a->dtype.kind == 'i' && bits >> (63 - unused) & 1)
        return tg_fail(err, TG_EDATA, "array \"%s\": -%llu is negative", a->name,
                       (unsigned long long)(0 - (bits | ~(UINT64_MAX >> unused))));
    /* unreached: where a size_t has 64 bits */
    if (bits > SIZE_MAX)
        return tg_fail(err, TG_EDATA, "array \"%s\": %llu exceeds %zu", a->name, (unsigned long long)bits,
                       SIZE_MAX);
    *value = (size_t)bits;
    return TG_OK;
}

tg_status tg_archive_get_f64(tg_archive_reader *r, const tg_array *a, double *value, tg_err *err)
{
    float narrow;
    tg_status status;

    if (a->ndim != 0 || a->dtype.kind != 'f' || a->dtype.size < 4)
        return not_a(a, "one <f8 or <f4", err);
    if (a->dtype.size == 8)
        return tg_archive_read(r, value, sizeof *value, err);
    status = tg_archive_read(r, &narrow, sizeof narrow, err);
    if (!status)
        *value = (double)narrow;
    return status;
}

tg_status tg_archive_get_text(tg_archive_reader *r, const tg_array *a, char *text, size_t size, tg_err *err)
{
    size_t n = a->bytes;
    tg_status status;

    if (a->ndim != 0 || a->dtype.kind != 'S')
        return not_a(a, "one text (|S)", err);
    if (n >= size)
        return tg_fail(err, TG_EDATA, "array \"%s\": text of %zu bytes, expected at most %zu", a->name, n,
                       size - 1);
    status = tg_archive_read(r, text, n, err);
    if (status)
        return status;
    while (n > 0 && text[n - 1] == '\0') /* padding by NumPy */
        n--;
    text[n] = '\0';
    if (memchr(text, '\0', n))
        return tg_fail(err, TG_EDATA, "array \"%s\": the text contains a NUL byte", a->name);
    return TG_OK;
}

tg_status tg_archive_get_choice(tg_archive_reader *r, const tg_array *a, const char *list, size_t *number,
                                tg_err *err)
{
    char name[TG_CHOICE_SIZE];
    tg_status status = tg_archive_get_text(r, a, name, sizeof name, err);

    if (status || tg_choice_find(number, list, name))
        return status;
    return tg_fail(err, TG_EDATA, "%s is \"%s\", expected one of %s", a->name, name, list);
}

/* ---- kind and version */

/* Write "a", "b" and so on for a list a|b. */
static void quote_list(char *out, size_t size, const char *list)
{
    char name[TG_CHOICE_SIZE];
    size_t used = 0;

    *out = '\0';
    for (size_t i = 0; *tg_choice_name(name, list, i) != '\0' && used < size; i++)
        used += (size_t)snprintf(out + used, size - used, "%s\"%s\"", i > 0 ? ", " : "", name);
}

static tg_status expect_kinds(tg_archive_reader *r, const tg_array *a, const char *kinds, size_t *number,
                              tg_err *err)
{
    char found[32], expected[256];
    tg_status status;

    if (strcmp(a->name, "kind") != 0)
        return tg_fail(err, TG_EDATA, "not an archive of tg: the first array is \"%s\", expected \"kind\"",
                       a->name);
    if ((status = tg_archive_get_text(r, a, found, sizeof found, err)) ||
        tg_choice_find(number, kinds, found))
        return status;
    quote_list(expected, sizeof expected, kinds);
    return tg_fail(err, TG_EDATA, "the archive has kind \"%s\", expected %s", found, expected);
}

tg_status tg_archive_expect_kind(tg_archive_reader *r, const tg_array *a, const char *kind, tg_err *err)
{
    size_t number;

    return expect_kinds(r, a, kind, &number, err);
}

tg_status tg_archive_read_kind(tg_archive_reader *r, const char *kinds, size_t *number, tg_err *err)
{
    tg_archive_event event;
    tg_array a;
    const tg_status status = tg_archive_next(r, &a, &event, err);

    if (status)
        return status;
    if (event != TG_ARCHIVE_ARRAY)
        return tg_fail(err, TG_EDATA, "not an archive of tg: it has no arrays");
    return expect_kinds(r, &a, kinds, number, err);
}

tg_status tg_archive_expect_version(tg_archive_reader *r, const tg_array *a, size_t version, tg_err *err)
{
    size_t found;
    tg_status status;

    if (strcmp(a->name, "version") != 0)
        return tg_fail(err, TG_EDATA, "the second array is \"%s\", expected \"version\"", a->name);
    if ((status = tg_archive_get_size(r, a, &found, err)))
        return status;
    if (found != version)
        return tg_fail(err, TG_EDATA, "the archive has version %zu, expected %zu", found, version);
    return TG_OK;
}

tg_status tg_archive_read_start(tg_archive_reader *r, const char *kind, size_t version, tg_err *err)
{
    tg_archive_event event;
    tg_array a;
    size_t number;
    tg_status status;

    if ((status = tg_archive_read_kind(r, kind, &number, err)) ||
        (status = tg_archive_next(r, &a, &event, err)))
        return status;
    if (event != TG_ARCHIVE_ARRAY)
        return tg_fail(err, TG_EDATA, "archive ends after \"kind\": \"version\" is missing");
    return tg_archive_expect_version(r, &a, version, err);
}

tg_status tg_archive_next_of_one(tg_archive_reader *r, tg_array *a, bool *more, tg_err *err)
{
    tg_archive_event event = TG_ARCHIVE_EOF;
    tg_status status = tg_archive_next(r, a, &event, err);

    *more = event == TG_ARCHIVE_ARRAY;
    if (status || *more || (status = tg_archive_next(r, a, &event, err)))
        return status;
    return event == TG_ARCHIVE_EOF ? TG_OK : tg_fail(err, TG_EDATA, "another archive follows the first");
}

/* ---- writing */

/* What is written before an array's values: the name of its member, and the head of the .npy file. */
struct beginning {
    char member[TG_ZIP_NAME_MAX + 1];
    unsigned char head[TG_NPY_FORMAT_MAX];
    size_t head_size;
};

/* Describe an array, all but its values. */
static tg_status describe_array(struct beginning *b, tg_array *a, const char *name, tg_dtype dtype,
                                size_t ndim, const size_t *shape, tg_err *err)
{
    const size_t n = strlen(name);

    *a = (tg_array){.dtype = dtype, .ndim = ndim};
    if (n == 0 || n > TG_NAME_MAX)
        return tg_fail(err, TG_EUSAGE, "array name \"%.20s...\" has %zu bytes, expected 1 to %d", name, n,
                       TG_NAME_MAX);
    for (size_t i = 0; i < ndim && i < TG_DIMS_MAX; i++)
        a->shape[i] = shape[i];
    if (!tg_array_measure(a))
        return tg_fail(err, TG_EUSAGE, "array \"%s\": cannot store %zu dimensions of type %c%zu", name, ndim,
                       dtype.kind, dtype.size);
    if (!tg_npy_holds(dtype))
        return tg_fail(err, TG_EUSAGE, "array \"%s\": .npy has no bfloat16, expected its bits as <u2", name);
    memcpy(b->member, name, n);
    memcpy(b->member + n, ".npy", SUFFIX + 1);
    b->head_size = tg_npy_format(b->head, a);
    return TG_OK;
}

tg_status tg_archive_put(tg_archive_writer *w, const char *name, tg_dtype dtype, size_t ndim,
                         const size_t *shape, const void *data, tg_err *err)
{
    struct beginning b;
    tg_array a;
    const tg_status status = describe_array(&b, &a, name, dtype, ndim, shape, err);

    return status ? status : tg_zip_put(w, b.member, b.head, b.head_size, data, a.bytes, err);
}

tg_status tg_archive_put_widened(tg_archive_writer *w, const char *name, size_t ndim, const size_t *shape,
                                 const tg_bf16 *data, tg_err *err)
{
    struct beginning b;
    tg_array a;
    const tg_status status = describe_array(&b, &a, name, TG_F32, ndim, shape, err);

    return status ? status : tg_zip_put_widened(w, b.member, b.head, b.head_size, data, a.count, err);
}

tg_status tg_archive_put_i64(tg_archive_writer *w, const char *name, int64_t value, tg_err *err)
{
    return tg_archive_put(w, name, TG_I64, 0, NULL, &value, err);
}

tg_status tg_archive_put_f64(tg_archive_writer *w, const char *name, double value, tg_err *err)
{
    return tg_archive_put(w, name, TG_F64, 0, NULL, &value, err);
}

tg_status tg_archive_put_text(tg_archive_writer *w, const char *name, const char *text, tg_err *err)
{
    size_t n = tg_size_max(1, strlen(text)); /* "" is one NUL */

    return tg_archive_put(w, name, (tg_dtype){'S', n}, 0, NULL, text, err);
}

tg_status tg_archive_put_choice(tg_archive_writer *w, const char *name, const char *list, size_t number,
                                tg_err *err)
{
    char text[TG_CHOICE_SIZE];

    return tg_archive_put_text(w, name, tg_choice_name(text, list, number), err);
}
