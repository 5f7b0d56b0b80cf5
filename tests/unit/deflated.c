#include "tests/unit/deflated.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/crc.h"
#include "formats/zip.h"

typedef struct output {
    unsigned char *p;
    size_t n;
} output;

static void need(bool ok)
{
    if (ok)
        return;
    fputs("deflate_archive: failed\n", stderr);
    abort();
}

/* Deflate p [n] to out [n]; returns the bytes, or 0 when they are not fewer. */
static size_t deflate_bytes(unsigned char *out, const unsigned char *p, size_t n)
{
    z_stream z = {.next_in = (z_const Bytef *)p, .avail_in = (uInt)n, .next_out = out};
    int end;

    if (n < 2)
        return 0;
    z.avail_out = (uInt)(n - 1);
    need(n <= UINT32_MAX &&
         deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    end = deflate(&z, Z_FINISH);
    deflateEnd(&z);
    return end == Z_STREAM_END ? n - 1 - z.avail_out : 0;
}

/* Append the member e, whose name, size and CRC-32 are known. */
static void put_member(output *o, tg_zip_entry *e, const unsigned char *content)
{
    unsigned char *packed = malloc(e->size + 1);
    size_t n;

    need(packed != NULL);
    n = deflate_bytes(packed, content, e->size);
    e->method = n > 0 ? TG_ZIP_DEFLATED : TG_ZIP_STORED;
    e->packed = n > 0 ? n : e->size;
    e->packed_crc = n > 0 ? tg_crc32(0, packed, n) : e->crc;
    e->offset = o->n;
    o->n += tg_zip_encode_local(o->p + o->n, e);
    memcpy(o->p + o->n, n > 0 ? packed : content, e->packed);
    o->n += e->packed;
    free(packed);
}

static void put_members(output *o, tg_zip_list *list, int fd)
{
    tg_source source;
    tg_archive_reader *r = NULL;
    const tg_zip_entry *e = NULL;
    tg_zip_entry *copy = NULL;
    tg_archive_event event = TG_ARCHIVE_EOF;

    need(!tg_source_open(&source, fd, NULL) && !tg_archive_open_source(&r, &source, NULL));
    for (;;) {
        unsigned char *content = NULL;

        need(!tg_zip_next(r, &e, &event, NULL));
        if (event != TG_ARCHIVE_ARRAY)
            break;
        need((content = malloc(e->size + 1)) && !tg_zip_expect(r, e->size, NULL) &&
             !tg_zip_read(r, content, e->size, NULL) && !tg_zip_verify(r, NULL) &&
             !tg_zip_list_slot(list, &copy, e->name, strlen(e->name), NULL) && copy);
        copy->crc = e->crc;
        copy->size = e->size;
        put_member(o, copy, content);
        list->count++;
        free(content);
    }
    tg_archive_close(r);
}

static void put_end(output *o, const tg_zip_list *list)
{
    const size_t directory = o->n, pad = tg_zip_last_pad(list->entry, list->count, directory);

    for (size_t i = 0; i < list->count; i++)
        o->n += tg_zip_encode_central(o->p + o->n, &list->entry[i], i + 1 == list->count ? pad : 0);
    o->n += tg_zip_encode_end(o->p + o->n, list->count, directory, o->n - directory);
}

void deflate_archive(int fd)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    tg_zip_list list = {0};
    output o = {malloc((size_t)size + TG_ZIP_LOCAL_MAX), 0}; /* it does not grow */

    need(size > 0 && o.p && lseek(fd, 0, SEEK_SET) == 0);
    put_members(&o, &list, fd);
    put_end(&o, &list);
    need(o.n <= (size_t)size && ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
    for (size_t at = 0; at < o.n;) {
        const ssize_t n = write(fd, o.p + at, o.n - at);

        need(n > 0);
        at += (size_t)n;
    }
    need(lseek(fd, 0, SEEK_SET) == 0);
    free(list.entry);
    free(o.p);
}
