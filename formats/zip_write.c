#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "formats/sink.h"
#include "formats/zip.h"
#include "lib/base/convert.h"
#include "lib/base/size.h"

#define PIECE ((size_t)4096) /* values that are widened at once */

struct tg_archive_writer {
    tg_sink sink;
    bool closed; /* finished or failed */
    tg_zip_list list;
};

tg_status tg_archive_create(tg_archive_writer **writer, int fd, tg_err *err)
{
    tg_archive_writer *w = calloc(1, sizeof *w);

    *writer = w;
    if (!w)
        return tg_fail_memory(err, sizeof *w, "the archive writer");
    w->sink.fd = fd;
    tg_pipe_grow(fd);
    return TG_OK;
}

void tg_archive_abandon(tg_archive_writer *w)
{
    if (!w)
        return;
    free(w->list.entry);
    free(w);
}

/* The offset of the next byte. */
static uint64_t at(const tg_archive_writer *w)
{
    return w->sink.done + w->sink.n;
}

/* What the sink says; a failure ends the archive. */
static tg_status result(tg_archive_writer *w, tg_err *err)
{
    char where[32];

    if (w->sink.err.code) {
        w->closed = true;
        snprintf(where, sizeof where, "at offset %llu", (unsigned long long)w->sink.done);
        if (err)
            *err = w->sink.err;
        (void)tg_err_in(err, where);
    }
    return w->sink.err.code;
}

/* ---- members */

static tg_status new_entry(tg_archive_writer *w, tg_zip_entry **e, const char *name, tg_err *err)
{
    const char *fault = tg_zip_name_fault(name, strlen(name));
    tg_status status;

    if (fault)
        return tg_fail(err, TG_EUSAGE, "the member name \"%.*s\" %s", 2 * TG_ZIP_NAME_MAX, name, fault);
    if (w->list.count == TG_NAMES_MAX)
        return tg_fail(err, TG_EUSAGE, "member \"%s\" exceeds the limit of %d members", name, TG_NAMES_MAX);
    status = tg_zip_list_slot(&w->list, e, name, strlen(name), err);
    if (!status && !*e)
        status = tg_fail(err, TG_EUSAGE, "the archive already has a member \"%s\"", name);
    return status;
}

/* Begin a member whose bytes, of which there are `size`, have that CRC-32. */
static tg_status begin(tg_archive_writer *w, const char *name, uint32_t crc, uint64_t size, tg_err *err)
{
    unsigned char header[TG_ZIP_LOCAL_MAX];
    tg_zip_entry *e;
    tg_status status;

    if (w->closed)
        return tg_fail(err, TG_EUSAGE, "member \"%s\" comes after the end of the archive", name);
    if ((status = new_entry(w, &e, name, err)))
        return status;
    e->crc = e->packed_crc = crc;
    e->size = e->packed = size;
    e->offset = at(w);
    tg_sink_put(&w->sink, header, tg_zip_encode_local(header, e));
    w->list.count++;
    return TG_OK;
}

tg_status tg_zip_put(tg_archive_writer *w, const char *name, const void *head, size_t head_size,
                     const void *data, size_t size, tg_err *err)
{
    const uint32_t crc = tg_crc32(tg_crc32(0, head, head_size), data, size);
    const tg_status status = begin(w, name, crc, head_size + size, err);

    if (status)
        return status;
    tg_sink_put(&w->sink, head, head_size);
    tg_sink_put(&w->sink, data, size);
    return result(w, err);
}

/* The next values of x [n], from `from` on, as float32; returns how many. */
static size_t widen(float piece[PIECE], const tg_bf16 *x, size_t n, size_t from)
{
    const size_t count = tg_size_min(PIECE, n - from);

    tg_floats_from_bf16(piece, x + from, count);
    return count;
}

tg_status tg_zip_put_widened(tg_archive_writer *w, const char *name, const void *head, size_t head_size,
                             const tg_bf16 *x, size_t n, tg_err *err)
{
    uint32_t crc = tg_crc32(0, head, head_size);
    float piece[PIECE];
    tg_status status;
    size_t count;

    for (size_t i = 0; i < n; i += count) {
        count = widen(piece, x, n, i);
        crc = tg_crc32(crc, piece, count * sizeof *piece);
    }
    if ((status = begin(w, name, crc, head_size + n * sizeof *piece, err)))
        return status;
    tg_sink_put(&w->sink, head, head_size);
    for (size_t i = 0; i < n; i += count) {
        count = widen(piece, x, n, i);
        tg_sink_put(&w->sink, piece, count * sizeof *piece);
    }
    return result(w, err);
}

tg_status tg_archive_finish(tg_archive_writer *w, tg_err *err)
{
    unsigned char bytes[TG_ZIP_CENTRAL_MAX > TG_ZIP_END_MAX ? TG_ZIP_CENTRAL_MAX : TG_ZIP_END_MAX];
    const uint64_t directory = at(w);
    const size_t count = w->list.count, pad = tg_zip_last_pad(w->list.entry, count, directory);

    if (w->closed)
        return tg_fail(err, TG_EUSAGE, "the archive is already closed");
    if (count == 0)
        return tg_fail(err, TG_EUSAGE, "the archive has no members, expected at least 1");
    for (size_t i = 0; i < count; i++)
        tg_sink_put(&w->sink, bytes,
                    tg_zip_encode_central(bytes, &w->list.entry[i], i + 1 == count ? pad : 0));
    tg_sink_put(&w->sink, bytes, tg_zip_encode_end(bytes, count, directory, at(w) - directory));
    w->closed = true;
    return tg_sink_flush(&w->sink, NULL) ? result(w, err) : TG_OK;
}

tg_status tg_archive_end(tg_archive_writer *w, tg_status status, tg_err *err)
{
    if (!status)
        status = tg_archive_finish(w, err);
    tg_archive_abandon(w);
    return status;
}
