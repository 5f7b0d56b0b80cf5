/*
 * Archives written and read back over files and pipes, damaged in every way that
 * one bit or one cut can, and read with memory failing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/archive.h"
#include "formats/zip.h"
#include "lib/base/size.h"
#include "tests/unit/check.h"
#include "tests/unit/deflated.h"
#include "tests/unit/failing.h"

/* ---- memory that fails on demand (tests/unit/failing.h), zlib's too */

int __real_inflateInit2_(z_streamp z, int bits, const char *version, int size);
int __wrap_inflateInit2_(z_streamp z, int bits, const char *version, int size);
int __real_inflate(z_streamp z, int flush);
int __wrap_inflate(z_streamp z, int flush);

int __wrap_inflateInit2_(z_streamp z, int bits, const char *version, int size)
{
    return failing_now() ? Z_MEM_ERROR : __real_inflateInit2_(z, bits, version, size);
}

int __wrap_inflate(z_streamp z, int flush)
{
    return failing_now() ? Z_MEM_ERROR : __real_inflate(z, flush);
}

/* ---- bytes as a file and as a pipe */

#define BYTES_MAX ((size_t)60000) /* fits in a pipe */

typedef struct bytes {
    size_t n;
    unsigned char p[BYTES_MAX];
} bytes;

static int as_file(const unsigned char *p, size_t n)
{
    char name[] = "/tmp/tg-test-XXXXXX";
    int fd = mkstemp(name);

    if (fd < 0 || unlink(name) != 0 || write(fd, p, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
        abort();
    return fd;
}

static int as_pipe(const unsigned char *p, size_t n)
{
    int ends[2];

    if (pipe(ends) != 0 || write(ends[1], p, n) != (ssize_t)n)
        abort();
    close(ends[1]);
    return ends[0];
}

typedef int opener(const unsigned char *p, size_t n);

/* ---- a small archive with everything in it */

static const float numbers[6] = {0, 1, -2, 0.5f, 1e-30f, 3e30f};
static const char letters[80] =
    "aaaaaaaaaaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbaaaaaaaaaaaaaaaaaaaacccccccccccccccccccc";

static tg_status write_sample(int fd, tg_err *err)
{
    tg_archive_writer *w;
    tg_status status = tg_archive_create(&w, fd, err);

    if (status != TG_OK)
        return status;
    if ((status = tg_archive_put_text(w, "kind", "sample", err)) != TG_OK ||
        (status = tg_archive_put_i64(w, "config/n", -5, err)) != TG_OK ||
        (status = tg_archive_put_f64(w, "config/eps", 1e-5, err)) != TG_OK ||
        (status = tg_archive_put_text(w, "empty", "", err)) != TG_OK ||
        (status = tg_archive_put(w, "none", TG_F32, 2, (size_t[]){0, 3}, NULL, err)) != TG_OK ||
        (status = tg_archive_put(w, "h.0.w-x_Y", TG_F32, 2, (size_t[]){2, 3}, numbers, err)) != TG_OK ||
        (status = tg_archive_put(w, "letters", TG_U8, 1, (size_t[]){80}, letters, err)) != TG_OK)
        goto done;
    status = tg_archive_finish(w, err);
done:
    tg_archive_abandon(w);
    return status;
}

static void slurp(int fd, bytes *b)
{
    off_t n = lseek(fd, 0, SEEK_END);

    b->n = (size_t)n;
    if (n < 0 || b->n > BYTES_MAX || pread(fd, b->p, b->n, 0) != n)
        abort();
}

static const bytes *sample(bool deflated)
{
    static bytes kept[2];
    bytes *b = &kept[deflated];
    tg_err err = {0};

    if (b->n == 0) {
        int fd = as_file(NULL, 0);

        CHECK_OK(write_sample(fd, &err), &err);
        if (deflated)
            deflate_archive(fd);
        slurp(fd, b);
        close(fd);
    }
    return b;
}

/* ---- reading */

/* Read everything but skip every second array.  Counts arrays and ends. */
static tg_status read_all(int fd, size_t *arrays, size_t *ends, tg_err *err)
{
    unsigned char data[256];
    tg_archive_reader *r;
    tg_array a;
    tg_archive_event event = TG_ARCHIVE_END;
    tg_status status = tg_archive_open(&r, fd, err);

    *arrays = *ends = 0;
    while (status == TG_OK && event != TG_ARCHIVE_EOF) {
        status = tg_archive_next(r, &a, &event, err);
        if (status != TG_OK || event == TG_ARCHIVE_EOF)
            break;
        *ends += event == TG_ARCHIVE_END;
        *arrays += event == TG_ARCHIVE_ARRAY;
        if (event == TG_ARCHIVE_ARRAY && *arrays % 2 == 0 && a.bytes <= sizeof data)
            status = tg_archive_read(r, data, a.bytes, err);
    }
    tg_archive_close(r);
    return status;
}

static tg_status read_bytes(opener *open_as, const unsigned char *p, size_t n, size_t *arrays, size_t *ends,
                            tg_err *err)
{
    int fd = open_as(p, n);
    tg_status status = read_all(fd, arrays, ends, err);

    close(fd);
    return status;
}

static void expect(tg_archive_reader *r, tg_array *a, const char *name)
{
    tg_archive_event event;
    tg_err err = {0};

    CHECK_OK(tg_archive_next(r, a, &event, &err), &err);
    CHECK_EQ(event, TG_ARCHIVE_ARRAY);
    CHECK(strcmp(a->name, name) == 0);
}

static void check_sample(int fd, bool mapped, size_t at)
{
    char text[8], part[80];
    float back[6];
    int64_t i = 0;
    size_t size;
    double f = 0;
    tg_archive_reader *r;
    tg_array a;
    tg_archive_event event;
    tg_err err = {0};

    CHECK_OK(tg_archive_open(&r, fd, &err), &err);
    if (!r)
        return;
    expect(r, &a, "kind");
    CHECK_EQ(a.data != NULL, mapped);
    CHECK_EQ(mapped ? ((uintptr_t)a.data - at) % 64 : 0, 0);
    CHECK_OK(tg_archive_get_text(r, &a, text, sizeof text, &err), &err);
    CHECK(strcmp(text, "sample") == 0);
    expect(r, &a, "config/n");
    CHECK_OK(tg_archive_read(r, &i, sizeof i, &err), &err);
    CHECK_EQ(i, -5);
    expect(r, &a, "config/eps");
    CHECK_EQ(tg_archive_get_size(r, &a, &size, &err), TG_EDATA);
    CHECK_HAS(err.message, "array \"config/eps\": expected one integer, got <f8 of shape ()");
    CHECK_OK(tg_archive_get_f64(r, &a, &f, &err), &err);
    CHECK(f == 1e-5);
    expect(r, &a, "empty");
    CHECK_OK(tg_archive_get_text(r, &a, text, sizeof text, &err), &err);
    CHECK(strcmp(text, "") == 0);
    expect(r, &a, "none");
    CHECK_EQ(a.bytes, 0);
    expect(r, &a, "h.0.w-x_Y");
    CHECK_EQ(a.ndim, 2);
    CHECK_EQ(a.shape[1], 3);
    CHECK_OK(tg_archive_read(r, back, 8, &err), &err);
    CHECK_OK(tg_archive_read(r, back + 2, 16, &err), &err);
    CHECK(memcmp(back, numbers, sizeof numbers) == 0);
    expect(r, &a, "letters");
    CHECK_OK(tg_archive_read(r, part, 70, &err), &err); /* the rest is skipped */
    CHECK(memcmp(part, letters, 70) == 0);
    CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
    CHECK_EQ(event, TG_ARCHIVE_END);
    tg_archive_close(r);
}

static void test_round_trip(void)
{
    for (unsigned deflated = 0; deflated < 2; deflated++) {
        const bytes *b = sample(deflated);
        int file = as_file(b->p, b->n), in = as_pipe(b->p, b->n);

        CHECK_EQ(b->n % 64, 0);
        check_sample(file, !deflated, 0);
        check_sample(in, false, 0);
        close(file);
        close(in);
    }
    CHECK(sample(true)->n <= sample(false)->n);
}

/* From the middle of a file, whatever the position. */
static void test_position(void)
{
    const bytes *b = sample(false);

    for (size_t at = 0; at < 9000; at += 4111) {
        static bytes shifted;
        int fd;

        memcpy(shifted.p + at, b->p, b->n);
        fd = as_file(shifted.p, at + b->n);
        CHECK_EQ(lseek(fd, (off_t)at, SEEK_SET), at);
        check_sample(fd, true, at);
        close(fd);
    }
}

static void test_equal_bytes(void)
{
    tg_err err = {0};
    static bytes again;
    int fd = as_file(NULL, 0);

    CHECK_OK(write_sample(fd, &err), &err);
    slurp(fd, &again);
    close(fd);
    CHECK_EQ(again.n, sample(false)->n);
    CHECK(memcmp(again.p, sample(false)->p, again.n) == 0);
}

/* ---- damage */

static const struct {
    const char *name;
    opener *open;
} ways[] = {{"file", as_file}, {"pipe", as_pipe}};

static void test_every_bit(void)
{
    const size_t step = check_soak(3, 1) * check_step(3); /* every bit in turn */

    for (size_t way = 0; way < 2; way++) {
        for (unsigned deflated = 0; deflated < 2; deflated++) {
            static bytes b;
            size_t arrays, ends, unseen = 0;

            b = *sample(deflated);
            for (size_t bit = 0; bit < 8 * b.n; bit += step) {
                tg_err err = {0};

                b.p[bit / 8] ^= (unsigned char)(1u << bit % 8);
                if (read_bytes(ways[way].open, b.p, b.n, &arrays, &ends, &err) != TG_EDATA) {
                    printf("%s, deflated %u: byte %zu bit %zu is not noticed\n", ways[way].name, deflated,
                           bit / 8, bit % 8);
                    unseen++;
                } else if (err.message[0] == '\0') {
                    unseen++;
                }
                b.p[bit / 8] ^= (unsigned char)(1u << bit % 8);
            }
            CHECK_EQ(unseen, 0);
        }
    }
}

static void test_every_cut(void)
{
    for (size_t way = 0; way < 2; way++) {
        for (unsigned deflated = 0; deflated < 2; deflated++) {
            const bytes *b = sample(deflated);
            size_t arrays, ends, unseen = 0;

            for (size_t n = 0; n < b->n; n++) {
                tg_err err = {0};

                unseen += read_bytes(ways[way].open, b->p, n, &arrays, &ends, &err) != TG_EDATA;
            }
            CHECK_EQ(unseen, 0);
        }
    }
}

static void test_one_byte_more(void)
{
    static bytes b;
    size_t arrays, ends;
    tg_err err = {0};

    b = *sample(false);
    b.p[b.n++] = '\n';
    CHECK_EQ(read_bytes(as_pipe, b.p, b.n, &arrays, &ends, &err), TG_EDATA);
    CHECK_EQ(ends, 1);
    CHECK_HAS(err.message, "trailing data after the archive, at offset");
    CHECK_HAS(err.message, "plain text");
}

static void test_concatenated(void)
{
    static bytes b;
    const bytes *one = sample(false), *two = sample(true);

    memcpy(b.p, one->p, one->n);
    memcpy(b.p + one->n, two->p, two->n);
    memcpy(b.p + one->n + two->n, one->p, one->n);
    b.n = 2 * one->n + two->n;
    for (size_t way = 0; way < 2; way++) {
        size_t arrays, ends;
        tg_err err = {0};

        CHECK_OK(read_bytes(ways[way].open, b.p, b.n, &arrays, &ends, &err), &err);
        CHECK_EQ(arrays, 21);
        CHECK_EQ(ends, 3);
        CHECK_EQ(read_bytes(ways[way].open, b.p, b.n - 1, &arrays, &ends, &err), TG_EDATA);
        CHECK_EQ(ends, 2);
        CHECK_HAS(err.message, "truncated");
    }
}

/* ---- memory */

static void test_no_memory(void)
{
    for (size_t way = 0; way < 2; way++) {
        for (unsigned deflated = 0; deflated < 2; deflated++) {
            const bytes *b = sample(deflated);
            size_t arrays, ends, n = 0;
            tg_status status = TG_ENOMEM;
            tg_err err = {0};

            for (; n < 100 && status == TG_ENOMEM; n++) {
                int fd = ways[way].open(b->p, b->n);

                failing_after((long)n);
                status = read_all(fd, &arrays, &ends, &err);
                failing_after(-1);
                close(fd);
            }
            CHECK_OK(status, &err);
            CHECK(n > 2);
        }
    }
}

static void test_no_memory_to_write(void)
{
    size_t n = 0;
    tg_status status = TG_ENOMEM;
    tg_err err = {0};

    for (; n < 100 && status == TG_ENOMEM; n++) {
        int fd = as_file(NULL, 0);

        failing_after((long)n);
        status = write_sample(fd, &err);
        failing_after(-1);
        close(fd);
    }
    CHECK_OK(status, &err);
    CHECK(n > 2);
}

/* ---- one value */

static tg_status one_value(tg_dtype dtype, size_t ndim, const void *value, size_t *size, double *f,
                           char text[4], tg_err *err)
{
    tg_archive_writer *w = NULL;
    tg_archive_reader *r = NULL;
    tg_archive_event event;
    tg_array a;
    int fd = as_file(NULL, 0);
    tg_status status;

    if (tg_archive_create(&w, fd, err) != TG_OK ||
        tg_archive_put(w, "x", dtype, ndim, (size_t[]){1, 1}, value, err) != TG_OK ||
        tg_archive_finish(w, err) != TG_OK || lseek(fd, 0, SEEK_SET) != 0 ||
        tg_archive_open(&r, fd, err) != TG_OK || tg_archive_next(r, &a, &event, err) != TG_OK)
        abort();
    status = size ? tg_archive_get_size(r, &a, size, err)
             : f  ? tg_archive_get_f64(r, &a, f, err)
                  : tg_archive_get_text(r, &a, text, 4, err);
    tg_archive_close(r);
    tg_archive_abandon(w);
    close(fd);
    return status;
}

static void test_integers(void)
{
    static const tg_dtype i8 = {'i', 1}, i16 = {'i', 2}, u64 = {'u', 8};
    size_t n = 0;
    tg_err err = {0};

    CHECK_EQ(one_value(i8, 0, (int8_t[]){-128}, &n, NULL, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, "-128 is negative");
    CHECK_EQ(one_value(i16, 0, (int16_t[]){-2}, &n, NULL, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, "-2 is negative");
    CHECK_EQ(one_value(TG_I64, 0, (int64_t[]){INT64_MIN}, &n, NULL, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, "-9223372036854775808 is negative");
    CHECK_OK(one_value(i8, 0, (int8_t[]){127}, &n, NULL, NULL, &err), &err);
    CHECK_EQ(n, 127);
    CHECK_OK(one_value(TG_U8, 0, (uint8_t[]){200}, &n, NULL, NULL, &err), &err);
    CHECK_EQ(n, 200);
    CHECK_OK(one_value(u64, 0, (uint64_t[]){UINT64_MAX}, &n, NULL, NULL, &err), &err);
    CHECK(n == SIZE_MAX);
    CHECK_EQ(one_value(TG_I64, 1, (int64_t[]){3}, &n, NULL, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, "of shape (1,)");
}

static void test_numbers(void)
{
    const float value = 0.15625f;
    bytes b;
    size_t at = 0;
    tg_archive_reader *r;
    tg_archive_writer *w;
    tg_archive_event event;
    tg_array a;
    double got;
    tg_err err = {0};
    int fd = as_file(NULL, 0);

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_archive_put(w, "half", TG_F16, 0, NULL, &value, &err), &err);
    CHECK_OK(tg_archive_put(w, "list", TG_F32, 1, (size_t[]){1}, &value, &err), &err);
    CHECK_OK(tg_archive_put(w, "one", TG_F32, 0, NULL, &value, &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    slurp(fd, &b);
    close(fd);
    for (size_t i = 0; i + sizeof value <= b.n; i++) /* the last one */
        at = memcmp(b.p + i, &value, sizeof value) == 0 ? i : at;
    for (size_t cut = 0; cut < 2; cut++) {
        fd = as_pipe(b.p, cut ? at + 2 : b.n);
        CHECK_OK(tg_archive_open(&r, fd, &err), &err);
        for (size_t i = 0; i < 2; i++) {
            CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
            CHECK_EQ(tg_archive_get_f64(r, &a, &got, &err), TG_EDATA);
            CHECK_HAS(err.message, "one <f8 or <f4");
        }
        CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
        CHECK_EQ(tg_archive_get_f64(r, &a, &got, &err), cut ? TG_EDATA : TG_OK);
        CHECK(cut || got == 0.15625);
        tg_archive_close(r);
        close(fd);
    }
}

static void test_others(void)
{
    char text[4];
    double f = 0;
    tg_err err = {0};

    CHECK_OK(one_value(TG_F32, 0, (float[]){0.5f}, NULL, &f, NULL, &err), &err);
    CHECK(f == 0.5);
    CHECK_EQ(one_value(TG_I64, 0, (int64_t[]){3}, NULL, &f, NULL, &err), TG_EDATA);
    CHECK_OK(one_value((tg_dtype){'S', 3}, 0, "ab\0", NULL, NULL, text, &err), &err);
    CHECK(strcmp(text, "ab") == 0);
    CHECK_EQ(one_value((tg_dtype){'S', 3}, 0, "a\0b", NULL, NULL, text, &err), TG_EDATA);
    CHECK_HAS(err.message, "NUL");
    CHECK_EQ(one_value((tg_dtype){'S', 4}, 0, "abcd", NULL, NULL, text, &err), TG_EDATA);
    CHECK_HAS(err.message, "4 bytes, expected at most 3");
    CHECK_EQ(one_value(TG_F32, 0, (float[]){0.5f}, NULL, NULL, text, &err), TG_EDATA);
}

/* ---- the writer: wrong use, failing writes */

static void test_usage(void)
{
    char name[TG_NAME_MAX + 2];
    tg_archive_writer *w;
    tg_err err = {0};
    int fd = as_file(NULL, 0);

    memset(name, 'x', sizeof name);
    name[TG_NAME_MAX + 1] = '\0';
    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_EQ(tg_archive_finish(w, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put_i64(w, name, 1, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "has 128");
    CHECK_OK(tg_archive_put_i64(w, name + 1, 1, &err), &err);
    CHECK_EQ(tg_archive_put_i64(w, name + 1, 1, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "already");
    CHECK_EQ(tg_archive_put_i64(w, "", 1, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put_i64(w, "/a", 1, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put_i64(w, "a/../b", 1, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put_i64(w, "a//b", 1, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put_i64(w, "a b", 1, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put(w, "a", (tg_dtype){'f', 3}, 0, NULL, NULL, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put(w, "a", TG_BF16, 1, (size_t[]){2}, "1234", &err), TG_EUSAGE);
    CHECK_HAS(err.message, "array \"a\": .npy has no bfloat16");
    CHECK_EQ(tg_archive_put(w, "a", TG_F32, 9, (size_t[9]){0}, NULL, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put(w, "a", TG_F32, 2, (size_t[]){SIZE_MAX, 2}, NULL, &err), TG_EUSAGE);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    CHECK_EQ(tg_archive_finish(w, &err), TG_EUSAGE);
    CHECK_EQ(tg_archive_put_i64(w, "late", 1, &err), TG_EUSAGE);
    tg_archive_abandon(w);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_OK(read_all(fd, &(size_t){0}, &(size_t){0}, &err), &err);
    close(fd);
}

/* A request for more than an array has fails; the data can still be read. */
static void test_read_too_much(void)
{
    for (size_t way = 0; way < 2; way++) {
        const bytes *b = sample(false);
        tg_archive_reader *r;
        tg_archive_event event;
        tg_array a;
        unsigned char piece[4096];
        tg_err err = {0};
        int fd = ways[way].open(b->p, b->n);

        CHECK_OK(tg_archive_open(&r, fd, &err), &err);
        CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
        CHECK(a.bytes > 0 && a.bytes < sizeof piece);
        CHECK_EQ(tg_archive_read(r, piece, a.bytes + 1, &err), TG_EUSAGE);
        CHECK_HAS(err.message, "requested");
        CHECK_OK(tg_archive_read(r, piece, a.bytes, &err), &err);
        CHECK_EQ(tg_archive_read(r, piece, 1, &err), TG_EUSAGE);
        CHECK_HAS(err.message, "1 bytes requested, 0 left");
        CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
        tg_archive_close(r);
        close(fd);
    }
}

/* A name and an extra field that together exceed TG_SOURCE_PEEK. */
static void test_long_name(void)
{
    unsigned char header[64] = "PK\3\4\24";

    memset(header + 26, 0xff, 4);
    for (size_t way = 0; way < 2; way++) {
        size_t arrays, ends;
        tg_err err = {0};

        CHECK_EQ(read_bytes(ways[way].open, header, sizeof header, &arrays, &ends, &err), TG_EDATA);
        CHECK_HAS(err.message, "the name of the member at offset 0 has 65535 bytes, expected at most 131");
    }
}

/* The bound on an input's bytes is known for files only. */
static void test_max_bytes(void)
{
    for (size_t way = 0; way < 2; way++) {
        const bytes *b = sample(false);
        int fd = ways[way].open(b->p, b->n);
        tg_archive_reader *r;
        tg_archive_event event;
        tg_array a;
        tg_err err = {0};

        CHECK_OK(tg_archive_open(&r, fd, &err), &err);
        for (int i = 0; i < 2; i++) {
            CHECK(tg_archive_max_bytes(r) ==
                  (ways[way].open == as_file ? 1032 * (uint64_t)b->n : UINT64_MAX));
            CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
        }
        tg_archive_close(r);
        close(fd);
    }
}

static void test_max_names(void)
{
    char name[16];
    size_t arrays, ends;
    tg_archive_writer *w;
    tg_err err = {0};
    int fd = as_file(NULL, 0);
    tg_status status = tg_archive_create(&w, fd, &err);

    for (int i = 0; i < TG_NAMES_MAX && status == TG_OK; i++) {
        snprintf(name, sizeof name, "a%d", i);
        status = tg_archive_put(w, name, TG_U8, 0, NULL, "x", &err);
    }
    CHECK_OK(status, &err);
    CHECK_EQ(tg_archive_put_i64(w, "more", 1, &err), TG_EUSAGE);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_OK(read_all(fd, &arrays, &ends, &err), &err);
    CHECK_EQ(arrays, TG_NAMES_MAX);
    close(fd);
}

static void test_full_device(void)
{
    FILE *full = fopen("/dev/full", "w");
    tg_err err = {0};

    if (!full)
        return;
    CHECK_EQ(write_sample(fileno(full), &err), TG_EIO);
    CHECK_HAS(err.message, "at offset 0: write failed after 0 of ");
    CHECK_EQ(err.sys, ENOSPC);
    fclose(full);
}

static void test_not_archives(void)
{
    static const struct {
        const char *p;
        size_t n;
        const char *what;
    } list[] = {
        {"", 0, "empty"},
        {"PK\5\6", 4, "without members"},
        {"\x93NUMPY\1\0", 8, "a single .npy array"},
        {"GGUF\3\0\0\0", 8, "GGUF"},
        {"\x40\0\0\0\0\0\0\0{\"a\"", 12, "safetensors"},
        {"\xC6\xD7\x34\x01\3\0\0\0", 8, "llm.c model"},
        {"\x88\xD8\x34\x01\1\0\0\0", 8, "llm.c tokens"},
        {"\xC8\xD7\x34\x01\2\0\0\0", 8, "llm.c tokenizer"},
        {"\x1F\x8B\x08\0", 4, "gzip"},
        {"To be, or not to be\n", 20, "plain text"},
        {"caf\xC3\xA9", 5, "plain text"},
        {"\x80\x02\x8A\x0A", 4, "PyTorch"},
        {"\x01\x02\x03\x04", 4, "0x01"},
        {"PK", 2, "plain text"},
    };

    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        for (size_t way = 0; way < 2; way++) {
            size_t arrays, ends;
            tg_err err = {0};

            CHECK_EQ(
                read_bytes(ways[way].open, (const unsigned char *)list[i].p, list[i].n, &arrays, &ends, &err),
                TG_EDATA);
            CHECK_HAS(err.message, list[i].what);
        }
    }
    CHECK(tg_zip_magic("PK\3\4", 4));
    CHECK(!tg_zip_magic("PK\3\4", 3));
}

/* ---- inputs */

/* One that is not mapped: its buffer grows. */
static void test_unmapped(void)
{
    static unsigned char big[3 * TG_SOURCE_PEEK];
    const int fd = as_file(big, sizeof big), directory = open("/", O_RDONLY);
    tg_status status = TG_ENOMEM;
    tg_source s;
    tg_err err = {0};
    long n;

    for (n = 0; status == TG_ENOMEM; n++) {
        lseek(fd, 0, SEEK_SET);
        failing_after(n);
        status = tg_source_open_unmapped(&s, fd, &err);
        status = status ? status : tg_source_all(&s, sizeof big, &err);
        failing_after(-1);
        CHECK(status || s.ready == sizeof big);
        tg_source_close(&s);
    }
    CHECK(status == TG_OK && n > 2);
    CHECK_OK(tg_source_open_unmapped(&s, directory, &err), &err);
    CHECK_EQ(tg_source_all(&s, 10, &err), TG_EIO);
    tg_source_close(&s);
    close(directory);
    close(fd);
}

static void test_unreadable(void)
{
    tg_archive_reader *r;
    tg_err err = {0};

    CHECK_EQ(tg_archive_open(&r, -1, &err), TG_EIO);
    CHECK(r == NULL);
    CHECK_EQ(err.sys, EBADF);
    tg_archive_close(NULL);
    tg_archive_abandon(NULL);
}

int main(void)
{
    RUN(test_round_trip);
    RUN(test_position);
    RUN(test_equal_bytes);
    RUN(test_every_bit);
    RUN(test_every_cut);
    RUN(test_one_byte_more);
    RUN(test_concatenated);
    RUN(test_no_memory);
    RUN(test_no_memory_to_write);
    RUN(test_integers);
    RUN(test_numbers);
    RUN(test_others);
    RUN(test_usage);
    RUN(test_read_too_much);
    RUN(test_long_name);
    RUN(test_max_bytes);
    RUN(test_max_names);
    RUN(test_full_device);
    RUN(test_not_archives);
    RUN(test_unreadable);
    RUN(test_unmapped);
    return check_done();
}
