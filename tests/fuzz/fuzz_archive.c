/*
 * The archive reader.
 *
 * Every input is read as a file and as a stream, and both must agree.  A second reader (zip_walk.h) must
 * accept what is accepted, and find the same data.  It is written again and must read back the same.
 */
#define _XOPEN_SOURCE 700
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/archive.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/zip_walk.h"
#include "tests/unit/deflated.h"
#include "tests/unit/failing.h"

#define DATA_MAX 100000 /* max bytes of an array to read */

/* The result of reading. */
typedef struct outcome {
    tg_status status;
    size_t arrays, ends;
    uint32_t crc;  /* of descriptions and data */
    uint32_t data; /* ... of data alone */
    int skipped;   /* an array was too long to read */
} outcome;

static void add(outcome *o, const void *p, size_t n)
{
    if (n > 0)
        o->crc = (uint32_t)crc32(o->crc, p, (uInt)n);
}

/* Read one array in pieces (from a pipe) or at once (mapped), into out when given. */
static tg_status take(tg_archive_reader *r, const tg_array *a, outcome *o, tg_archive_writer *out,
                      tg_err *err)
{
    static unsigned char data[DATA_MAX];
    size_t half = a->bytes / 2;
    tg_status status = TG_OK;

    add(o, a->name, strlen(a->name));
    add(o, &a->dtype.kind, 1);
    add(o, &a->dtype.size, sizeof a->dtype.size);
    add(o, a->shape, a->ndim * sizeof a->shape[0]);
    o->skipped |= a->bytes > DATA_MAX;
    if (a->bytes > DATA_MAX)
        return TG_OK;
    if ((status = tg_archive_read(r, data, half, err)) != TG_OK ||
        (status = tg_archive_read(r, data + half, a->bytes - half, err)) != TG_OK)
        return status;
    if (a->data)
        must(memcmp(a->data, data, a->bytes) == 0);
    add(o, data, a->bytes);
    if (a->bytes > 0)
        o->data = (uint32_t)crc32(o->data, data, (uInt)a->bytes);
    if (out)
        must(tg_archive_put(out, a->name, a->dtype, a->ndim, a->shape, data, err) == TG_OK);
    return TG_OK;
}

static outcome read_fd(int fd, tg_archive_writer *out)
{
    outcome o = {0};
    tg_archive_reader *r;
    tg_array a;
    tg_archive_event event = TG_ARCHIVE_END;
    tg_err err = {0};

    o.status = tg_archive_open(&r, fd, &err);
    while (o.status == TG_OK && event != TG_ARCHIVE_EOF) {
        o.status = tg_archive_next(r, &a, &event, &err);
        if (o.status == TG_OK && event == TG_ARCHIVE_ARRAY) {
            o.arrays++;
            o.status = take(r, &a, &o, out, &err);
        }
        o.ends += o.status == TG_OK && event == TG_ARCHIVE_END;
    }
    must(o.status == TG_OK || (o.status == TG_EDATA && err.message[0] != '\0'));
    tg_archive_close(r);
    return o;
}

/* Write the file's arrays again, and read that. */
static void round_trip(const uint8_t *data, size_t size, const outcome *first, bool deflated)
{
    static FILE *f;
    tg_archive_writer *w;
    tg_err err = {0};
    outcome o;

    if (!f)
        f = tmpfile();
    must(f && ftruncate(fileno(f), 0) == 0 && lseek(fileno(f), 0, SEEK_SET) == 0);
    must(tg_archive_create(&w, fileno(f), &err) == TG_OK);
    (void)read_fd(input_file(data, size), w);
    must(tg_archive_finish(w, &err) == TG_OK && lseek(fileno(f), 0, SEEK_SET) == 0);
    tg_archive_abandon(w);
    failing_rest(true);
    if (deflated)
        deflate_archive(fileno(f));
    failing_rest(false);
    o = read_fd(fileno(f), NULL);
    must(o.status == TG_OK && o.arrays == first->arrays && o.crc == first->crc);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    outcome file, piped;
    zip_sum sum;

    if (size > INPUT_MAX)
        return 0;
    file = read_fd(input_file(data, size), NULL);
    piped = read_fd(input_stream(data, size), NULL);
    must(file.status == piped.status);
    if (file.status != TG_OK)
        return 0;
    must(file.arrays == piped.arrays && file.ends == piped.ends && file.crc == piped.crc);
    if (file.ends == 1 && !file.skipped) {
        must(zip_walk(&sum, data, size) && sum.arrays == file.arrays && sum.crc == file.data);
        round_trip(data, size, &file, false);
        round_trip(data, size, &file, true);
    }
    return 0;
}

/* ---- mutation */

/* A small archive as tg writes it; foreign ones come from a corpus. */
static size_t make_seed(uint8_t *out, size_t max, unsigned seed)
{
    static FILE *f;
    tg_archive_writer *w;
    tg_err err = {0};
    float x[4] = {0, 1, 2, 3};

    if (!f)
        f = tmpfile();
    must(f && ftruncate(fileno(f), 0) == 0 && lseek(fileno(f), 0, SEEK_SET) == 0);
    must(tg_archive_create(&w, fileno(f), &err) == TG_OK);
    must(tg_archive_put_text(w, "kind", "seed", &err) == TG_OK);
    must(tg_archive_put(w, "x", TG_F32, 2, (size_t[]){2, 2}, x, &err) == TG_OK);
    must(tg_archive_finish(w, &err) == TG_OK);
    tg_archive_abandon(w);
    if (seed & 1)
        deflate_archive(fileno(f));
    return input_take(fileno(f), out, max);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return input_mutate(data, size < 30 ? make_seed(data, max, seed) : size, max, seed);
}
