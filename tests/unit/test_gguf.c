/* GGUF files: read whole, cut, damaged and false; written, and read again. */
#define _GNU_SOURCE /* memfd_create */
#include "formats/gguf.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/block_types.h"
#include "formats/gguf_writer.h"
#include "lib/base/size.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/ref_blocks.h"

/* ---- a file, byte by byte */

typedef struct file {
    unsigned char bytes[8192];
    size_t n;
} file;

static void put(file *f, const void *data, size_t n)
{
    memcpy(f->bytes + f->n, data, n);
    f->n += n;
}

static void put32(file *f, uint32_t x)
{
    put(f, &x, sizeof x);
}

static void put64(file *f, uint64_t x)
{
    put(f, &x, sizeof x);
}

static void put_text(file *f, const char *text)
{
    put64(f, strlen(text));
    put(f, text, strlen(text));
}

static void put_key(file *f, const char *key, uint32_t type)
{
    put_text(f, key);
    put32(f, type);
}

static void pad(file *f, size_t to)
{
    while (f->n % to != 0)
        f->bytes[f->n++] = 0;
}

static void put_begin(file *f, uint32_t version, uint64_t tensors, uint64_t values)
{
    f->n = 0;
    put(f, "GGUF", 4);
    put32(f, version);
    put64(f, tensors);
    put64(f, values);
}

static void put_tensor(file *f, const char *name, uint32_t ndim, const uint64_t *dims, uint32_t type,
                       uint64_t offset)
{
    put_text(f, name);
    put32(f, ndim);
    for (size_t i = 0; i < ndim; i++)
        put64(f, dims[i]);
    put32(f, type);
    put64(f, offset);
}

/* ---- all of a good file */

#define VALUES 18

/* A value of each type and some arrays; their keys are a, b, c, ... */
static void put_values(file *f)
{
    static const int32_t some[] = {-1, 0, 2147483647};
    const float single = 1e-5f;
    const double twice = 0.1;

    put_key(f, "a", TG_GGUF_U8), put(f, "\xFF", 1);
    put_key(f, "b", TG_GGUF_I8), put(f, "\xFF", 1);
    put_key(f, "c", TG_GGUF_U16), put(f, "\xFE\xFF", 2);
    put_key(f, "d", TG_GGUF_I16), put(f, "\xFE\xFF", 2);
    put_key(f, "e", TG_GGUF_U32), put32(f, UINT32_MAX);
    put_key(f, "f", TG_GGUF_I32), put32(f, UINT32_MAX - 2);
    put_key(f, "g", TG_GGUF_F32), put(f, &single, 4);
    put_key(f, "h", TG_GGUF_BOOL), put(f, "\1", 1);
    put_key(f, "i", TG_GGUF_TEXT), put_text(f, "gpt2");
    put_key(f, "j", TG_GGUF_U64), put64(f, UINT64_MAX);
    put_key(f, "k", TG_GGUF_I64), put64(f, UINT64_MAX - 3);
    put_key(f, "l", TG_GGUF_F64), put(f, &twice, 8);
    put_key(f, "m", TG_GGUF_ARRAY), put32(f, TG_GGUF_TEXT), put64(f, 3);
    put_text(f, "one"), put_text(f, ""), put_text(f, "three");
    put_key(f, "n", TG_GGUF_ARRAY), put32(f, TG_GGUF_I32), put64(f, 3), put(f, some, sizeof some);
    put_key(f, "o", TG_GGUF_ARRAY), put32(f, TG_GGUF_U64), put64(f, 0);
    put_key(f, "p", TG_GGUF_ARRAY), put32(f, TG_GGUF_BOOL), put64(f, 2), put(f, "\0\1", 2);
    put_key(f, "q", TG_GGUF_ARRAY), put32(f, TG_GGUF_F32), put64(f, 1), put(f, &single, 4);
    put_key(f, "general.alignment", TG_GGUF_U32), put32(f, 64);
}

static const float numbers[] = {1, -2, 0.5f, 3, 1024, -0.25f};

/* Four tensors, not in the order of their data. */
static void put_good(file *f, uint32_t version)
{
    static const uint64_t matrix[] = {3, 2}, row[] = {32, 1, 1, 2}, one[] = {1};
    unsigned char block[TG_Q8_0_BYTES] = {0x00, 0x3C}; /* scale 1 */

    put_begin(f, version, 4, VALUES);
    put_values(f);
    put_tensor(f, "whole", 1, one, 26, 64);
    put_tensor(f, "matrix", 2, matrix, 0, 0);
    put_tensor(f, "blocks", 4, row, 8, 192);
    put_tensor(f, "single", 0, NULL, 1, 128);
    pad(f, 64);
    put(f, numbers, sizeof numbers), pad(f, 64);
    put32(f, 7), pad(f, 64);
    put(f, "\x00\xC0", 2), pad(f, 64); /* -2 */
    for (size_t b = 0; b < 2; b++) {
        for (size_t i = 0; i < 32; i++)
            block[2 + i] = (unsigned char)(b == 0 ? i : 0 - i);
        put(f, block, sizeof block);
    }
}

/* Read a copy of exactly n bytes, so that reading beyond it is seen. */
static tg_status read_copy(tg_tensor_list *list, tg_gguf *g, unsigned char **copy, const void *bytes,
                           size_t n, tg_err *err)
{
    *copy = malloc(n > 0 ? n : 1);
    memcpy(*copy, bytes, n);
    *list = (tg_tensor_list){0};
    return tg_gguf_read(list, g, *copy, n, err);
}

static void done(tg_tensor_list *list, tg_gguf *g, unsigned char *copy)
{
    tg_gguf_free(g);
    tg_tensor_list_free(list);
    free(copy);
}

static tg_status try(const void *bytes, size_t n, tg_err *err)
{
    tg_tensor_list list;
    tg_gguf g;
    unsigned char *copy;
    const tg_status status = read_copy(&list, &g, &copy, bytes, n, err);

    done(&list, &g, copy);
    return status;
}

static void check_values(tg_gguf *g)
{
    static const struct {
        const char *key;
        int64_t integer;
    } integers[] = {{"a", 255}, {"b", -1}, {"c", 65534},     {"d", -2}, {"e", UINT32_MAX},
                    {"f", -3},  {"h", 1},  {"j", INT64_MAX}, {"k", -4}, {"general.alignment", 64}};
    const tg_gguf_value *v;
    const unsigned char *at;
    double real;
    tg_span text;
    size_t size;

    CHECK_EQ(g->n_values, VALUES);
    CHECK_EQ(g->alignment, 64);
    for (size_t i = 0; i < sizeof integers / sizeof *integers; i++)
        CHECK(tg_gguf_integer(tg_gguf_find(g, integers[i].key), 0) == integers[i].integer);
    size = tg_gguf_get_size(g, "e");
    CHECK(size == UINT32_MAX);
    real = tg_gguf_get_real(g, "g");
    CHECK(real == (double)1e-5f);
    real = tg_gguf_get_real(g, "l");
    CHECK(real == 0.1);
    text = tg_gguf_get_text(g, "i");
    CHECK(tg_span_is(text, "gpt2"));
    v = tg_gguf_get_texts(g, "m");
    CHECK_EQ(v->n, 3);
    at = v->at;
    CHECK(tg_span_is(tg_gguf_next_text(&at), "one"));
    CHECK(tg_span_is(tg_gguf_next_text(&at), ""));
    CHECK(tg_span_is(tg_gguf_next_text(&at), "three"));
    CHECK(at == v->at + v->bytes);
    v = tg_gguf_get_integers(g, "n");
    CHECK(v->n == 3 && tg_gguf_integer(v, 0) == -1 && tg_gguf_integer(v, 2) == INT32_MAX);
    v = tg_gguf_get_integers(g, "o");
    CHECK_EQ(v->n, 0);
    v = tg_gguf_find(g, "p");
    CHECK(v->array && v->n == 2 && tg_gguf_integer(v, 0) == 0 && tg_gguf_integer(v, 1) == 1);
    CHECK(tg_gguf_real(tg_gguf_find(g, "q"), 0) == (double)1e-5f);
    CHECK(!tg_gguf_find(g, "r") && !tg_gguf_find(g, "") && !tg_gguf_find(g, "general"));
    CHECK_OK(g->status, g->err);
}

static void check_tensors(const tg_tensor_list *list)
{
    const tg_stored *s;
    float x[64] = {0};
    char text[TG_ARRAY_TEXT_MAX];
    tg_err err;

    CHECK_EQ(list->n, 4);
    s = tg_tensor_list_find(list, "matrix");
    CHECK(s && s->array.ndim == 2 && s->array.shape[0] == 2 && s->array.shape[1] == 3 && s->array.data);
    CHECK_OK(tg_stored_load(x, s, 0, 6, &err), &err);
    CHECK(memcmp(x, numbers, sizeof numbers) == 0);
    s = tg_tensor_list_find(list, "single");
    CHECK(s && s->array.ndim == 0 && s->array.count == 1 && tg_dtype_equal(s->array.dtype, TG_F16));
    CHECK_OK(tg_stored_load(x, s, 0, 1, &err), &err);
    CHECK(x[0] == -2);
    s = tg_tensor_list_find(list, "whole");
    CHECK(s && tg_dtype_equal(s->array.dtype, TG_I32) && *s->at == 7);
    CHECK_EQ(tg_stored_load(x, s, 0, 1, &err), TG_EDATA);
    s = tg_tensor_list_find(list, "blocks");
    CHECK(s && s->blocks == blocks_named("q8_0") && !s->array.data && s->stored == 68);
    CHECK(s->array.ndim == 4 && s->array.shape[0] == 2 && s->array.shape[3] == 32 && s->array.count == 64);
    CHECK(strcmp(tg_stored_type(text, s), "q8_0") == 0);
    CHECK_OK(tg_stored_load(x, s, 5, 59, &err), &err);
    CHECK(x[0] == 5 && x[26] == 31 && x[28] == -1 && x[58] == -31);
}

static void a_file_is_read(void)
{
    for (uint32_t version = 2; version <= 3; version++) {
        tg_tensor_list list;
        tg_gguf g;
        unsigned char *copy;
        file f;
        tg_err err;

        put_good(&f, version);
        CHECK_OK(read_copy(&list, &g, &copy, f.bytes, f.n, &err), &err);
        CHECK_EQ(g.version, version);
        check_values(&g);
        check_tensors(&list);
        done(&list, &g, copy);
    }
}

static void padding_at_the_end_may_be_there(void)
{
    tg_err err;
    file f;

    put_good(&f, 3);
    pad(&f, 64);
    CHECK_OK(try(f.bytes, f.n, &err), &err);
    f.bytes[f.n++] = 0;
    CHECK_EQ(try(f.bytes, f.n, &err), TG_EDATA);
    CHECK_HAS(err.message, "1 bytes follow the last tensor");
}

static void other_types_of_values_are_refused(void)
{
    static const struct {
        const char *key, *message;
    } sizes[] = {{"x", "x is missing"},
                 {"g", "g is f32, expected an integer"},
                 {"h", "h is bool, expected an integer"},
                 {"i", "i is text, expected an integer"},
                 {"n", "n is an array of i32, expected an integer"},
                 {"b", "b is -1, expected no negative number"}};
    tg_tensor_list list;
    tg_gguf g;
    unsigned char *copy;
    file f;
    tg_err err;

    put_good(&f, 3);
    CHECK_OK(read_copy(&list, &g, &copy, f.bytes, f.n, &err), &err);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        g.status = TG_OK;
        CHECK_EQ(tg_gguf_get_size(&g, sizes[i].key), 0);
        CHECK_EQ(g.status, TG_EDATA);
        CHECK(strcmp(err.message, sizes[i].message) == 0);
    }
    CHECK_EQ(tg_gguf_get_size(&g, "a"), 0); /* after a failure */
    CHECK(!tg_gguf_get_texts(&g, "i") && strcmp(err.message, sizes[5].message) == 0);
    g.status = TG_OK;
    CHECK(tg_gguf_get_real(&g, "e") == 0 && g.status == TG_EDATA);
    CHECK_HAS(err.message, "e is u32, expected a float");
    g.status = TG_OK;
    CHECK(tg_gguf_get_text(&g, "m").n == 0 && g.status == TG_EDATA);
    CHECK_HAS(err.message, "m is an array of text, expected a text");
    g.status = TG_OK;
    CHECK(!tg_gguf_get_texts(&g, "i") && g.status == TG_EDATA);
    CHECK_HAS(err.message, "i is text, expected an array of texts");
    g.status = TG_OK;
    CHECK(!tg_gguf_get_integers(&g, "q") && g.status == TG_EDATA);
    CHECK_HAS(err.message, "q is an array of f32, expected an array of integers");
    done(&list, &g, copy);
}

/* ---- damaged files */

static void cut_anywhere(void)
{
    file f;

    put_good(&f, 3);
    for (size_t n = 0; n < f.n; n++) {
        tg_err err = {0};

        CHECK_EQ(try(f.bytes, n, &err), TG_EDATA);
        CHECK(err.message[0] != '\0');
    }
}

static void damaged_anywhere(void)
{
    static const unsigned char damage[] = {1, 0x80, 0xFF, 0x20};
    file f;

    put_good(&f, 3);
    for (size_t i = 0; i < f.n; i++)
        for (size_t k = 0; k < sizeof damage; k++) {
            tg_err err = {0};
            tg_status status;

            f.bytes[i] ^= damage[k];
            status = try(f.bytes, f.n, &err);
            CHECK(status == TG_OK || status == TG_EDATA);
            f.bytes[i] ^= damage[k];
        }
}

/* A file with a value and two tensors, and what is wrong with it. */
typedef struct plan {
    const char *message;            /* NULL: nothing is wrong */
    uint32_t version;               /* 0: 3 */
    uint64_t tensors, values;       /* claimed besides the right number */
    const char *key;                /* of the second value; NULL: there is none */
    uint32_t value_type, align;     /* 0: none */
    uint64_t text;                  /* the length of the value's text; 0: right */
    uint32_t element;               /* of an array, plus 1 */
    uint64_t elements;              /* claimed */
    const char *name;               /* of the second tensor */
    uint32_t type, ndim;            /* of it */
    uint64_t dims[5], offset, tail; /* tail: bytes after the data */
} plan;

static void put_plan(file *f, const plan *p)
{
    static const uint64_t four[] = {4};
    const uint64_t *dims = p->dims[0] ? p->dims : four;

    put_begin(f, p->version ? p->version : 3, 2 + p->tensors,
              1 + p->values + (p->key != NULL) + (p->align > 0) + (p->element > 0));
    put_key(f, "some.key", p->value_type ? p->value_type : TG_GGUF_TEXT);
    put64(f, p->text ? p->text : 5), put(f, "value", 5);
    if (p->key)
        put_key(f, p->key, TG_GGUF_U32), put32(f, 5);
    if (p->align)
        put_key(f, "general.alignment", TG_GGUF_U32), put32(f, p->align);
    if (p->element)
        put_key(f, "array", TG_GGUF_ARRAY), put32(f, p->element - 1), put64(f, p->elements), put64(f, 2);
    put_tensor(f, "first", 1, four, 0, 0);
    put_tensor(f, p->name ? p->name : "second", p->ndim ? p->ndim : 1, dims, p->type,
               p->offset ? p->offset : 32);
    pad(f, 32);
    put(f, "0123456789abcdef", 16), pad(f, 32);
    put(f, "0123456789abcdef", 16), pad(f, 32);
    for (size_t i = 0; i < p->tail; i++)
        put(f, "", 1);
}

#define LONG64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void false_files_are_refused(void)
{
    static const plan plans[] = {
        {0},
        {.name = LONG64},
        {.version = 1, .message = "GGUF version 1, expected 2 or 3"},
        {.version = 4, .message = "GGUF version 4, expected 2 or 3"},
        {.version = 3u << 24, .message = "GGUF version 50331648 (a big-endian file?), expected 2 or 3"},
        {.values = 1000, .message = "the GGUF file claims 1001 values, but only"},
        {.values = UINT64_MAX / 2, .message = "the GGUF file claims 9223372036854775808 values"},
        {.values = 1, .message = "GGUF tensor 1: a tensor's name is empty"},
        {.tensors = 1000000, .message = "the GGUF file has 1000002 tensors, expected at most 4096"},
        {.tensors = UINT64_MAX - 5, .message = "tensors, expected at most 4096"},
        {.tensors = 1000, .message = "GGUF tensor 3: a tensor's name is empty"},
        {.key = "some.key", .message = "there are two GGUF values some.key"},
        {.key = "", .message = "GGUF value 2: its key is empty"},
        {.key = "a\tb", .message = "GGUF value 2: its key has the byte \\x09, expected printable ASCII"},
        {.value_type = 13, .message = "GGUF value 1: type 13, expected one from 0 to 12"},
        {.value_type = TG_GGUF_BOOL, .message = "GGUF value 1: a truth value of 5, expected 0 or 1"},
        {.text = UINT64_MAX, .message = "ends within value 1 of 1: expected 18446744073709551615 bytes"},
        {.text = 4000, .message = "ends within value 1 of 1: expected 4000 bytes at byte"},
        {.align = 3, .message = "general.alignment is 3, expected a power of two"},
        {.align = 1u << 31, .message = "general.alignment is 2147483648, expected a power of two"},
        {.element = 1 + TG_GGUF_ARRAY, .elements = 1, .message = "GGUF value 2: an array of arrays"},
        {.element = 1 + TG_GGUF_U64, .elements = 1000, .message = "GGUF value 2: an array of 1000 elements"},
        {.element = 1 + TG_GGUF_TEXT, .elements = UINT64_MAX, .message = "elements, but only"},
        {.element = 1 + TG_GGUF_F64, .elements = UINT64_MAX / 8 + 2, .message = "elements, but only"},
        {.element = 99, .message = "GGUF value 2: type 98"},
        {.element = 1 + TG_GGUF_U64, .elements = 1},
        {.name = LONG64 "0", .message = "GGUF tensor 2: its name has 65 bytes, expected at most 64"},
        {.name = "first", .message = "there are two tensors first"},
        {.name = "a b", .message = "\\x20"},
        {.type = 9, .message = "second has type 9, q8_1, which tg does not read"},
        {.type = 36, .message = "second has type 36, which tg does not read"},
        {.type = UINT32_MAX, .message = "second has type 4294967295, which tg does not read"},
        {.type = 8, .message = "second has rows of 4 values, expected a multiple of 32 for q8_0"},
        {.ndim = 5, .dims = {1, 1, 1, 1, 4}, .message = "second has 5 dimensions, expected at most 4"},
        {.ndim = 2,
         .dims = {UINT64_MAX / 2, 4},
         .message = "second has a shape that is too large for memory"},
        {.ndim = 2, .dims = {1ull << 32, 1ull << 32}, .message = "is too large for memory"},
        {.ndim = 2, .dims = {4, 0}, .message = "second has a dimension of 0 values"},
        {.ndim = 1, .dims = {1000}, .message = "second: 4000 bytes at offset 32 of the data, which has 64"},
        {.offset = 33, .message = "second has the offset 33, expected a multiple of 32"},
        {.offset = 64, .message = "second: 16 bytes at offset 64 of the data, which has 64"},
        {.offset = UINT64_MAX - 31, .message = "second: 16 bytes at offset 18446744073709551584"},
        {.ndim = 1, .dims = {2}, .tail = 32, .message = "32 bytes follow the last tensor"},
        {.tail = 1, .message = "1 bytes follow the last tensor"},
    };
    file f;

    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        tg_err err = {0};
        tg_status status;

        put_plan(&f, &plans[i]);
        status = try(f.bytes, f.n, &err);
        CHECK_EQ(status, plans[i].message ? TG_EDATA : TG_OK);
        CHECK_HAS(err.message, plans[i].message ? plans[i].message : "");
    }
}

static void data_must_be_contiguous(void)
{
    static const uint64_t four[] = {4}, eight[] = {8};
    static const struct {
        uint64_t first, second;
        const char *message;
    } cases[] = {{0, 16, NULL},
                 {16, 0, NULL},
                 {0, 0, "second is at "},
                 {0, 32, "second is at "},
                 {16, 32, "first is at "}};
    file f;
    tg_err err;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_begin(&f, 3, 2, 1);
        put_key(&f, "general.alignment", TG_GGUF_U32), put32(&f, 16);
        put_tensor(&f, "first", 1, four, 0, cases[i].first);
        put_tensor(&f, "second", 1, four, 0, cases[i].second);
        pad(&f, 16);
        for (size_t k = 0; k < (cases[i].message ? 48 : 32); k++)
            put(&f, "x", 1);
        CHECK_EQ(try(f.bytes, f.n, &err), cases[i].message ? TG_EDATA : TG_OK);
        if (cases[i].message)
            CHECK_HAS(err.message, cases[i].message);
    }
    put_begin(&f, 3, 2, 0);
    put_tensor(&f, "first", 1, four, 0, 32);
    put_tensor(&f, "second", 1, (const uint64_t[]){16}, 0, 0);
    pad(&f, 32);
    put(&f, LONG64, 64);
    CHECK_EQ(try(f.bytes, f.n, &err), TG_EDATA);
    CHECK_HAS(err.message, "first at ");
    CHECK_HAS(err.message, "overlaps second");
    put_begin(&f, 3, 1, 0);
    put_tensor(&f, "first", 1, eight, 0, 0);
    pad(&f, 32);
    put(&f, LONG64, 32);
    CHECK_OK(try(f.bytes, f.n, &err), &err);
    CHECK_EQ(try("GGUX\3\0\0\0", 8, &err), TG_EDATA);
    CHECK_HAS(err.message, "does not begin with GGUF");
}

static void a_file_may_have_no_tensors(void)
{
    file f;
    tg_err err;

    put_begin(&f, 3, 0, 1);
    put_key(&f, "key", TG_GGUF_BOOL), put(&f, "\0", 1);
    CHECK_OK(try(f.bytes, f.n, &err), &err);
    pad(&f, 32);
    CHECK_OK(try(f.bytes, f.n, &err), &err);
    put(&f, "", 1);
    CHECK_EQ(try(f.bytes, f.n, &err), TG_EDATA);
}

/* As many values as are allowed, and their keys compared, in no quadratic time. */
static void many_values(void)
{
    const size_t n = TG_GGUF_VALUES_MAX + 1, each = 8 + 6 + 4 + 1;
    unsigned char *bytes = malloc(24 + n * each), *p = bytes + 24;
    const uint64_t claimed[2] = {0, n}, fewer = n - 1;
    tg_err err;

    memcpy(bytes, "GGUF\3\0\0\0", 8);
    memcpy(bytes + 8, claimed, 16);
    for (size_t i = 0; i < n; i++, p += each) {
        memcpy(p, "\6\0\0\0\0\0\0\0", 8);
        snprintf((char *)p + 8, 7, "k%05zu", i % 100000);
        memset(p + 14, 0, 5);
    }
    CHECK_EQ(try(bytes, 24 + n * each, &err), TG_EDATA);
    CHECK_HAS(err.message, "has 65537 values, expected at most 65536");
    memcpy(bytes + 16, &fewer, 8);
    CHECK_OK(try(bytes, 24 + fewer * each, &err), &err);
    free(bytes);
}

/* ---- writing */

#define ROWS 3
#define ROW 64

static float ramp(size_t i)
{
    return (float)((double)i - 100) / 8;
}

/* Write a file with all kinds of values and tensors; the values in pieces of n. */
static tg_status write_all(int fd, size_t n, tg_err *err)
{
    static const int32_t types[] = {1, -1, 3};
    static const size_t shape[] = {ROWS, ROW}, odd[] = {5};
    float x[ROWS * ROW];
    tg_gguf_writer w;

    tg_gguf_begin(&w, fd);
    tg_gguf_put_text(&w, "general.architecture", "gpt2", 4);
    tg_gguf_put_u32(&w, "u32", 4000000000);
    tg_gguf_put_f32(&w, "f32", 1e-5f);
    tg_gguf_put_bool(&w, "yes", true);
    tg_gguf_put_bool(&w, "no", false);
    tg_gguf_put_texts(&w, "texts", 2);
    tg_gguf_put_element(&w, "\xC4\xA0", 2);
    tg_gguf_put_element(&w, NULL, 0);
    tg_gguf_put_i32s(&w, "types", types, 3);
    tg_gguf_put_i32s(&w, "none", NULL, 0);
    tg_gguf_declare(&w, "f32", 2, shape, TG_GGUF_AS_F32);
    tg_gguf_declare(&w, "f16", 2, shape, TG_GGUF_AS_F16);
    tg_gguf_declare(&w, "bf16", 1, odd, TG_GGUF_AS_BF16);
    tg_gguf_declare(&w, "q8_0", 2, shape, TG_GGUF_AS_Q8_0);
    for (size_t t = 0; t < 4; t++) {
        const size_t count = t == 2 ? 5 : ROWS * ROW;

        for (size_t i = 0; i < count; i++)
            x[i] = ramp(i);
        for (size_t i = 0; i < count; i += n)
            tg_gguf_put_values(&w, x + i, tg_size_min(n, count - i));
    }
    return tg_gguf_finish(&w, err);
}

/* Take what was written from a file in memory. */
static size_t taken(int fd, unsigned char *out, size_t max)
{
    const ssize_t n = pread(fd, out, max, 0);

    close(fd);
    return n > 0 ? (size_t)n : 0;
}

static void check_written(tg_gguf *g, const tg_tensor_list *list)
{
    static const char *const names[] = {"f32", "f16", "bf16", "q8_0"};
    const double step = 12.5 / 127; /* of q8_0; the scale has 11 bits */
    const tg_gguf_value *v;
    const unsigned char *at;
    tg_span text;
    size_t size;
    double real;
    float x[ROWS * ROW];
    char type[TG_ARRAY_TEXT_MAX];
    tg_err err;

    CHECK_EQ(g->version, 3);
    CHECK_EQ(g->n_values, 8);
    text = tg_gguf_get_text(g, "general.architecture");
    CHECK(tg_span_is(text, "gpt2"));
    size = tg_gguf_get_size(g, "u32");
    CHECK_EQ(size, 4000000000);
    real = tg_gguf_get_real(g, "f32");
    CHECK(real == (double)1e-5f);
    CHECK(tg_gguf_integer(tg_gguf_find(g, "yes"), 0) == 1 && tg_gguf_integer(tg_gguf_find(g, "no"), 0) == 0);
    v = tg_gguf_get_texts(g, "texts");
    at = v->at;
    CHECK(v->n == 2 && tg_span_is(tg_gguf_next_text(&at), "\xC4\xA0") && tg_gguf_next_text(&at).n == 0);
    v = tg_gguf_get_integers(g, "types");
    CHECK(v->type == TG_GGUF_I32 && v->n == 3 && tg_gguf_integer(v, 1) == -1);
    v = tg_gguf_get_integers(g, "none");
    CHECK_EQ(v->n, 0);
    CHECK_EQ(list->n, 4);
    for (size_t t = 0; t < 4; t++) {
        const tg_stored *s = tg_tensor_list_find(list, names[t]);

        CHECK(s && strcmp(tg_stored_type(type, s), names[t]) == 0 && s->offset % TG_GGUF_ALIGNMENT == 0);
        CHECK_OK(tg_stored_load(x, s, 0, s->array.count, &err), &err);
        for (size_t i = 0; i < s->array.count; i++) /* multiples of 1/8, which only q8_0 rounds */
            CHECK_NEAR((double)x[i], (double)ramp(i), t == 3 ? step / 2 + 12.5 * 0x1p-11 : 0);
    }
}

static void what_is_written_is_read(void)
{
    static const size_t pieces[] = {ROWS * ROW, 32, 96};
    unsigned char first[8192], again[8192], *copy;
    tg_tensor_list list;
    tg_gguf g;
    tg_err err;

    for (size_t i = 0; i < 3; i++) {
        const int fd = memfd_create("gguf", 0);
        unsigned char *bytes = i == 0 ? first : again;
        size_t n;

        CHECK_OK(write_all(fd, pieces[i], &err), &err);
        n = taken(fd, bytes, sizeof first);
        CHECK(n > 1000 && n % TG_GGUF_ALIGNMENT == 0);
        CHECK_OK(read_copy(&list, &g, &copy, bytes, n, &err), &err);
        check_written(&g, &list);
        done(&list, &g, copy);
        CHECK(i == 0 || memcmp(first, again, n) == 0);
    }
}

static void values_that_do_not_fit_are_refused(void)
{
    static const size_t shape[] = {64};
    static const struct {
        tg_gguf_kind kind;
        float value;
        const char *message;
    } cases[] = {{TG_GGUF_AS_F16, 65519, NULL},
                 {TG_GGUF_AS_F16, -65520, "x has a value beyond the range of f16: write it as f32"},
                 {TG_GGUF_AS_BF16, 3.38e38f, NULL},
                 {TG_GGUF_AS_BF16, 3.40e38f, "x has a value beyond the range of bf16: write it as f32"},
                 {TG_GGUF_AS_Q8_0, -TG_Q8_0_LIMIT, NULL},
                 {TG_GGUF_AS_Q8_0, 1e7f, "x has a value beyond the range of q8_0: write it as f32"},
                 {TG_GGUF_AS_F32, 3.40e38f, NULL}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float x[64] = {0};
        tg_gguf_writer w;
        tg_err err = {0};
        const int fd = memfd_create("gguf", 0);

        x[63] = cases[i].value;
        tg_gguf_begin(&w, fd);
        tg_gguf_declare(&w, "x", 1, shape, cases[i].kind);
        tg_gguf_put_values(&w, x, 64);
        CHECK_EQ(tg_gguf_finish(&w, &err), cases[i].message ? TG_EDATA : TG_OK);
        CHECK(strcmp(err.message, cases[i].message ? cases[i].message : "") == 0);
        close(fd);
    }
    for (size_t i = 0; i < 2; i++) { /* infinity is kept, but does not hide another value */
        const float x[2] = {INFINITY, i == 0 ? 1 : 65520};
        tg_gguf_writer w;
        tg_err err = {0};
        const int fd = memfd_create("gguf", 0);

        tg_gguf_begin(&w, fd);
        tg_gguf_declare(&w, "x", 1, (size_t[]){2}, TG_GGUF_AS_F16);
        tg_gguf_put_values(&w, x, 2);
        CHECK_EQ(tg_gguf_finish(&w, &err), i == 0 ? TG_OK : TG_EDATA);
        close(fd);
    }
    CHECK(tg_gguf_can_store(TG_GGUF_AS_Q8_0, 96) && !tg_gguf_can_store(TG_GGUF_AS_Q8_0, 80));
    CHECK(tg_gguf_can_store(TG_GGUF_AS_F16, 80));
}

static void writing_fails(void)
{
    static const size_t shape[] = {4};
    const float x[4] = {0};
    const int full = open("/dev/full", O_WRONLY);
    tg_gguf_writer w;
    tg_err err;

    CHECK_EQ(write_all(full, 32, &err), TG_EIO);
    close(full);
    tg_gguf_begin(&w, -1);
    CHECK_EQ(tg_gguf_finish(&w, &err), TG_EIO);
    tg_gguf_begin(&w, open("/dev/null", O_WRONLY));
    tg_gguf_declare(&w, "x", 1, shape, TG_GGUF_AS_F32);
    tg_gguf_put_values(&w, x, 3);
    close(w.out.fd);
    CHECK_EQ(tg_gguf_finish(&w, &err), TG_EUSAGE);
    CHECK(strcmp(err.message, "x has 4 values, got 3") == 0);
    tg_gguf_begin(&w, -1);
    tg_gguf_declare(&w, "x", 1, shape, TG_GGUF_AS_F32);
    CHECK_EQ(tg_gguf_finish(&w, &err), TG_EUSAGE);
    CHECK(strcmp(err.message, "x has 4 values, got 0") == 0);
    tg_gguf_begin(&w, -1);
    tg_gguf_declare(&w, "x", 2, (size_t[]){SIZE_MAX, 4}, TG_GGUF_AS_F32);
    CHECK_EQ(tg_gguf_finish(&w, &err), TG_ENOMEM);
}

static void no_memory(void)
{
    const int null = open("/dev/null", O_WRONLY);
    tg_tensor_list list = {0};
    tg_gguf g;
    tg_status status = TG_ENOMEM;
    tg_err err;
    file f;
    long n;

    put_good(&f, 3);
    for (n = 0; status == TG_ENOMEM; n++) {
        failing_after(n);
        status = tg_gguf_read(&list, &g, f.bytes, f.n, &err);
        failing_after(-1);
        tg_gguf_free(&g);
        tg_tensor_list_free(&list);
    }
    CHECK_OK(status, &err);
    CHECK(n > 3);
    status = TG_ENOMEM;
    for (n = 0; status == TG_ENOMEM; n++) {
        failing_after(n);
        status = write_all(null, 32, &err);
        failing_after(-1);
    }
    CHECK_OK(status, &err);
    CHECK(n > 3);
    close(null);
}

int main(void)
{
    RUN(a_file_is_read);
    RUN(padding_at_the_end_may_be_there);
    RUN(other_types_of_values_are_refused);
    RUN(cut_anywhere);
    RUN(damaged_anywhere);
    RUN(false_files_are_refused);
    RUN(data_must_be_contiguous);
    RUN(a_file_may_have_no_tensors);
    RUN(many_values);
    RUN(what_is_written_is_read);
    RUN(values_that_do_not_fit_are_refused);
    RUN(writing_fails);
    RUN(no_memory);
    return check_done();
}
