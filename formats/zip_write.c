#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "formats/sink.h"
#include "formats/zip.h"

#define BUFFER ((size_t)64 << 10)

struct tg_zip_writer {
    int fd;
    bool closed; /* finished or failed */
    tg_zip_list list;
    uint64_t at; /* bytes so far, buffered ones included */
    size_t used;
    unsigned char buffer[BUFFER];
};

/* A member's content, in two parts: head and data. */
typedef struct content {
    const unsigned char *part[2];
    size_t size[2];
    size_t total;
} content;

tg_status tg_zip_create(tg_zip_writer **writer, int fd, tg_err *err)
{
    tg_zip_writer *w = malloc(sizeof *w);

    *writer = w;
    if (!w)
        return tg_fail_memory(err, sizeof *w, "the archive writer");
    w->fd = fd;
    w->closed = false;
    w->list = (tg_zip_list){0};
    w->at = 0;
    w->used = 0;
    tg_pipe_grow(fd);
    return TG_OK;
}

void tg_zip_abandon(tg_zip_writer *w)
{
    if (!w)
        return;
    free(w->list.entry);
    free(w);
}

/* ---- output */

/* Write p [n], which is at offset `at` of the archive. */
static tg_status write_all(tg_zip_writer *w, const unsigned char *p, size_t n, uint64_t at, tg_err *err)
{
    char where[32];
    tg_status status = tg_write_all(w->fd, p, n, err);

    if (!status)
        return TG_OK;
    w->closed = true;
    snprintf(where, sizeof where, "at offset %llu", (unsigned long long)at);
    (void)tg_err_in(err, where);
    return status;
}

static tg_status flush(tg_zip_writer *w, tg_err *err)
{
    size_t n = w->used;

    w->used = 0;
    return write_all(w, w->buffer, n, w->at - n, err);
}

static tg_status out(tg_zip_writer *w, const unsigned char *p, size_t n, tg_err *err)
{
    if (n > BUFFER - w->used) {
        tg_status status = flush(w, err);

        if (status)
            return status;
    }
    if (n > BUFFER) {
        tg_status status = write_all(w, p, n, w->at, err);

        w->at += n;
        return status;
    }
    if (n > 0)
        memcpy(w->buffer + w->used, p, n);
    w->used += n;
    w->at += n;
    return TG_OK;
}

/* ---- members */

static tg_status new_entry(tg_zip_writer *w, tg_zip_entry **e, const char *name, tg_err *err)
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

static tg_status put_entry(tg_zip_writer *w, tg_zip_entry *e, const content *c, tg_err *err)
{
    unsigned char header[TG_ZIP_LOCAL_MAX];
    size_t n = tg_zip_encode_local(header, e);
    tg_status status = out(w, header, n, err);

    for (size_t i = 0; i < 2 && !status; i++)
        status = out(w, c->part[i], c->size[i], err);
    if (!status)
        w->list.count++;
    return status;
}

tg_status tg_zip_put(tg_zip_writer *w, const char *name, const void *head, size_t head_size, const void *data,
                     size_t size, tg_err *err)
{
    const content c = {{head, data}, {head_size, size}, head_size + size};
    tg_zip_entry *e;
    tg_status status;

    if (w->closed)
        return tg_fail(err, TG_EUSAGE, "member \"%s\" comes after the end of the archive", name);
    if ((status = new_entry(w, &e, name, err)))
        return status;
    e->crc = e->packed_crc = tg_crc32(tg_crc32(0, head, head_size), data, size);
    e->size = e->packed = c.total;
    e->offset = w->at;
    return put_entry(w, e, &c, err);
}

tg_status tg_zip_finish(tg_zip_writer *w, tg_err *err)
{
    unsigned char bytes[TG_ZIP_CENTRAL_MAX > TG_ZIP_END_MAX ? TG_ZIP_CENTRAL_MAX : TG_ZIP_END_MAX];
    uint64_t directory = w->at;
    size_t count = w->list.count;
    size_t pad = tg_zip_last_pad(w->list.entry, count, directory);
    tg_status status = TG_OK;

    if (w->closed)
        return tg_fail(err, TG_EUSAGE, "the archive is already closed");
    if (count == 0)
        return tg_fail(err, TG_EUSAGE, "the archive has no members, expected at least 1");
    for (size_t i = 0; i < count && !status; i++) {
        size_t n = tg_zip_encode_central(bytes, &w->list.entry[i], i + 1 == count ? pad : 0);

        status = out(w, bytes, n, err);
    }
    if (!status) {
        size_t n = tg_zip_encode_end(bytes, count, directory, w->at - directory);

        status = out(w, bytes, n, err);
    }
    if (!status)
        status = flush(w, err);
    w->closed = true;
    return status;
}
