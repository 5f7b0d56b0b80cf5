#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "formats/format.h"
#include "formats/zip.h"
#include "lib/base/size.h"

#define STEP ((size_t)1 << 30) /* zlib counts in unsigned int */
#define INFLATE_MAX 1032       /* max bytes of output per byte of deflate data */

#define FLAG_ENCRYPTED 0x0001

void tg_archive_forget(tg_archive_reader *r)
{
    tg_source_forget(&r->source);
}

uint64_t tg_archive_max_bytes(const tg_archive_reader *r)
{
    const uint64_t size = r->source.at + r->source.ready;

    /* unreached: a mapped file has fewer than 2^53 bytes */
    return !r->source.map || size > UINT64_MAX / INFLATE_MAX ? UINT64_MAX : size * INFLATE_MAX;
}

/* ---- messages */

static tg_zip_entry *current(tg_archive_reader *r)
{
    return &r->list.entry[r->list.count - 1];
}

/* TG_EDATA, with the current member. */
TG_PRINTF(2, 3) static void bad(tg_archive_reader *r, const char *format, ...)
{
    char why[TG_ERR_MAX / 2];
    const tg_zip_entry *e = current(r);
    va_list ap;

    va_start(ap, format);
    vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    tg_zip_fail(r, "member \"%s\" at offset %llu: %s", e->name, (unsigned long long)(r->start + e->offset),
                why);
}

/* ---- the start of an archive */

/* Start an archive, which must begin with a member.  False: the input ends, or a failure. */
static bool begin_archive(tg_archive_reader *r)
{
    tg_source *s = &r->source;
    const char *what;

    r->status = tg_source_peek(s, 4, r->err);
    if (r->status || s->ready == 0)
        return false;
    r->start = s->at;
    r->list.count = 0;
    r->canonical = false;
    r->inside = true;
    if (tg_zip_magic(s->next, s->ready))
        return true;
    if ((r->status = tg_source_peek(s, TG_FORMAT_BYTES, r->err)))
        return false;
    what = tg_format_text(tg_format_recognize(s->next, s->ready));
    if (s->at > 0)
        tg_zip_fail(r, "trailing data after the archive, at offset %llu: %s", (unsigned long long)s->at,
                    what ? what : "unknown data");
    else if (what)
        tg_zip_fail(r, "not an .npz archive: this is %s", what);
    else
        tg_zip_fail(r, "not an .npz archive: the first byte of %zu is 0x%02x, expected 0x50 (\"PK\")",
                    s->ready, s->next[0]);
    return false;
}

tg_status tg_archive_open_source(tg_archive_reader **reader, tg_source *source, tg_err *err)
{
    tg_archive_reader *r = calloc(1, sizeof *r);
    tg_status status;

    *reader = NULL;
    if (!r) {
        tg_source_close(source);
        return tg_fail_memory(err, sizeof *r, "the archive reader");
    }
    r->err = err;
    r->source = *source;
    *source = (tg_source){.fd = -1};
    if (!begin_archive(r))
        tg_zip_fail(r, "not an .npz archive: the input is empty");
    if ((status = r->status))
        tg_archive_close(r);
    else
        *reader = r;
    return status;
}

void tg_archive_close(tg_archive_reader *r)
{
    if (!r)
        return;
    if (r->z_ready)
        inflateEnd(&r->z);
    tg_source_close(&r->source);
    free(r->list.entry);
    free(r);
}

/* ---- sizes */

/* The sizes in the local header at p with its extra fields [n]. */
static void local_sizes(tg_archive_reader *r, const unsigned char *p, const unsigned char *extra, size_t n)
{
    tg_zip_entry *e = current(r);
    uint32_t size = tg_get32(p + 22), packed = tg_get32(p + 18);
    const unsigned char *wide;
    size_t left;
    const char *fault = tg_zip_find_wide(extra, n, &wide, &left);

    if (fault)
        bad(r, "%s", fault);
    r->wide_descriptor = wide != NULL;
    if (left >= 16) { /* both sizes, even where 32 bits suffice */
        e->size = tg_get64(wide);
        e->packed = tg_get64(wide + 8);
        if ((size != TG_ZIP_FULL && size != e->size) || (packed != TG_ZIP_FULL && packed != e->packed))
            bad(r, "its zip64 sizes differ from those of its header");
    } else if (!tg_zip_size64(&e->size, size, &wide, &left) ||
               !tg_zip_size64(&e->packed, packed, &wide, &left)) {
        bad(r, "a zip64 size is missing");
    }
}

/* ---- local headers */

static void check_method(tg_archive_reader *r)
{
    const tg_zip_entry *e = current(r);

    if (e->flags & FLAG_ENCRYPTED)
        bad(r, "it is encrypted");
    if (e->flags & ~TG_ZIP_FLAGS_KNOWN)
        bad(r, "unknown flags 0x%04x", e->flags);
    if (e->method != TG_ZIP_STORED && e->method != TG_ZIP_DEFLATED)
        bad(r, "compression method %u, expected 0 (stored) or 8 (deflate)", e->method);
}

static void check_sizes(tg_archive_reader *r)
{
    const tg_zip_entry *e = current(r);

    if (r->packed_known && e->method == TG_ZIP_STORED && e->size != e->packed)
        bad(r, "stored %llu bytes in %llu, expected equal sizes", (unsigned long long)e->size,
            (unsigned long long)e->packed);
    if (r->packed_known && e->method == TG_ZIP_DEFLATED && e->size / INFLATE_MAX > e->packed)
        bad(r, "%llu bytes of deflate data cannot hold %llu", (unsigned long long)e->packed,
            (unsigned long long)e->size);
}

/* Require the header p [n] to be what tg writes. */
static void check_canonical(tg_archive_reader *r, const unsigned char *p, size_t n)
{
    unsigned char want[TG_ZIP_LOCAL_MAX];
    const size_t m = tg_zip_encode_local(want, current(r)), both = tg_size_min(n, m);
    size_t i = 0;

    while (i < both && p[i] == want[i])
        i++;
    if (i < tg_size_max(n, m))
        bad(r, "byte %zu of its header differs from what tg writes: damaged, or changed by another program",
            i);
}

/* Append an entry for the member with that name [n]. */
static void add_member(tg_archive_reader *r, const unsigned char *name, size_t n)
{
    unsigned long long at = r->source.at;
    const char *fault = tg_zip_name_fault((const char *)name, n);
    tg_zip_entry *e = NULL;

    if (fault)
        tg_zip_fail(r, "the name of the member at offset %llu %s: damaged, or not an .npz archive", at,
                    fault);
    else if (r->list.count == TG_NAMES_MAX)
        tg_zip_fail(r, "more than %d members (offset %llu)", TG_NAMES_MAX, at);
    else
        r->status = tg_zip_list_slot(&r->list, &e, (const char *)name, n, r->err);
    if (r->status)
        return;
    if (!e) {
        tg_zip_fail(r, "duplicate member \"%.*s\" at offset %llu", (int)n, (const char *)name, at);
        return;
    }
    e->offset = r->source.at - r->start;
    r->list.count++;
}

static void start_member(tg_archive_reader *r, const unsigned char *p)
{
    tg_zip_entry *e = current(r);

    e->flags = tg_get16(p + 6);
    e->method = tg_get16(p + 8);
    e->time = tg_get16(p + 10);
    e->date = tg_get16(p + 12);
    e->crc = tg_get32(p + 14);
    r->open = true;
    r->sized = r->packed_known = !(e->flags & TG_ZIP_FLAG_DESCRIPTOR);
    r->ended = false;
    r->done = r->packed_done = 0;
    r->crc = r->packed_crc = 0;
}

static void inflate_start(tg_archive_reader *r)
{
    if (r->status || current(r)->method != TG_ZIP_DEFLATED)
        return;
    if (r->z_ready)
        inflateReset(&r->z);
    else if (inflateInit2(&r->z, -MAX_WBITS) != Z_OK)
        r->status = tg_fail_memory(r->err, 1u << 16, "the decompressor");
    r->z_ready = !r->status;
}

static void read_local(tg_archive_reader *r)
{
    tg_source *s = &r->source;
    size_t name, extra, n;
    const unsigned char *p;
    tg_zip_entry *e;

    if (!tg_zip_need(r, TG_ZIP_LOCAL, "a member's header"))
        return;
    name = tg_get16(s->next + 26);
    extra = tg_get16(s->next + 28);
    n = TG_ZIP_LOCAL + name + extra;
    if (name > TG_ZIP_NAME_MAX) /* the header might also exceed TG_SOURCE_PEEK */
        tg_zip_fail(r, "the name of the member at offset %llu has %zu bytes, expected at most %d",
                    (unsigned long long)s->at, name, TG_ZIP_NAME_MAX);
    if (!tg_zip_need(r, n, "a member's header"))
        return;
    p = s->next;
    add_member(r, p + TG_ZIP_LOCAL, name);
    if (r->status)
        return;
    start_member(r, p);
    e = current(r);
    if (r->list.count == 1)
        r->canonical = tg_zip_is_canonical_extra(p + TG_ZIP_LOCAL + name, extra);
    e->packed_crc = e->method == TG_ZIP_STORED ? e->crc : tg_zip_extra_crc(p + TG_ZIP_LOCAL + name, extra);
    check_method(r);
    local_sizes(r, p, p + TG_ZIP_LOCAL + name, extra);
    check_sizes(r);
    if (r->canonical)
        check_canonical(r, p, n);
    tg_source_skip(s, n);
    if (s->map && r->packed_known && e->packed > s->ready) /* before anything is read */
        bad(r, "truncated: expected %llu bytes at offset %llu, got %zu", (unsigned long long)e->packed,
            (unsigned long long)s->at, s->ready);
    inflate_start(r);
}

/* ---- members' content */

static void read_stored(tg_archive_reader *r, unsigned char *dst, size_t n)
{
    tg_source *s = &r->source;

    while (n > 0 && !r->status) {
        size_t step = tg_size_min(n, STEP);

        if (dst) {
            if ((r->status = tg_source_read(s, dst, step, current(r)->name, r->err)))
                return;
            r->crc = tg_crc32(r->crc, dst, step);
            dst += step;
        } else if (tg_zip_need(r, 1, current(r)->name)) {
            step = tg_size_min(step, s->ready);
            r->crc = tg_crc32(r->crc, s->next, step);
            tg_source_skip(s, step);
        }
        n -= step;
        r->done += step;
        r->packed_done += step;
    }
}

/* One call of inflate() with an output buffer dst [n], n >= 1.  *made = bytes written; 0 when
 * it only consumed input, or the stream has ended, or a failure. */
static size_t inflate_step(tg_archive_reader *r, unsigned char *dst, size_t n)
{
    tg_source *s = &r->source;
    z_stream *z = &r->z;
    uint64_t left = r->packed_known ? current(r)->packed - r->packed_done : SIZE_MAX;
    size_t used;
    int result;

    if (left > 0 && !tg_zip_need(r, 1, current(r)->name))
        return 0;
    z->next_in = (z_const Bytef *)s->next;
    z->avail_in = (uInt)tg_size_min(tg_size_min(s->ready, STEP), left > STEP ? STEP : (size_t)left);
    z->next_out = dst;
    z->avail_out = (uInt)tg_size_min(n, STEP);
    result = inflate(z, Z_NO_FLUSH);
    used = (size_t)(z->next_in - s->next);
    r->packed_crc = tg_crc32(r->packed_crc, s->next, used);
    r->packed_done += used;
    tg_source_skip(s, used);
    r->ended = result == Z_STREAM_END;
    if (result == Z_MEM_ERROR)
        r->status = tg_fail_memory(r->err, 1u << 16, "the decompressor");
    else if (result == Z_BUF_ERROR)
        bad(r, "its deflate data ends after %llu bytes without an end mark",
            (unsigned long long)r->packed_done);
    else if (result != Z_OK && result != Z_STREAM_END)
        bad(r, "its deflate data is damaged near offset %llu (%s)", (unsigned long long)s->at,
            /* unreached: zlib asks for a dictionary only in its own format */
            z->msg ? z->msg : "a dictionary is needed");
    return r->status ? 0 : (size_t)(z->next_out - dst);
}

static void read_deflated(tg_archive_reader *r, unsigned char *dst, size_t n)
{
    while (n > 0 && !r->status) {
        unsigned char *to = dst ? dst : r->scratch;
        size_t made;

        if (r->ended) {
            bad(r, "it holds only %llu bytes, expected %llu", (unsigned long long)r->done,
                (unsigned long long)(r->done + n));
            return;
        }
        made = inflate_step(r, to, dst ? n : tg_size_min(n, sizeof r->scratch));
        r->crc = tg_crc32(r->crc, to, made);
        r->done += made;
        n -= made;
        if (dst)
            dst += made;
    }
}

tg_status tg_zip_read(tg_archive_reader *r, void *dst, size_t n, tg_err *err)
{
    r->err = err;
    if (r->sized && n > current(r)->size - r->done)
        bad(r, "it holds only %llu bytes, expected %llu", (unsigned long long)current(r)->size,
            (unsigned long long)(r->done + n));
    if (current(r)->method == TG_ZIP_DEFLATED)
        read_deflated(r, dst, n);
    else
        read_stored(r, dst, n);
    return r->status;
}

tg_status tg_zip_expect(tg_archive_reader *r, uint64_t size, tg_err *err)
{
    tg_zip_entry *e = current(r);

    r->err = err;
    if (r->sized && e->size != size)
        bad(r, "it holds %llu bytes, its array header says %llu", (unsigned long long)e->size,
            (unsigned long long)size);
    e->size = size;
    r->sized = true;
    if (e->method == TG_ZIP_STORED) {
        e->packed = size;
        r->packed_known = true;
    }
    if (r->source.map && e->method == TG_ZIP_STORED && size - r->done > r->source.ready)
        bad(r, "truncated: expected %llu bytes at offset %llu, got %zu", (unsigned long long)(size - r->done),
            (unsigned long long)r->source.at, r->source.ready);
    return r->status;
}

tg_status tg_zip_map(tg_archive_reader *r, const void **data, size_t n, tg_err *err)
{
    const unsigned char *here = r->source.next;

    *data = NULL;
    if (!r->source.map || current(r)->method != TG_ZIP_STORED)
        return TG_OK;
    if (!tg_zip_read(r, NULL, n, err) && !tg_zip_verify(r, err))
        *data = here;
    return r->status;
}

/* ---- the end of a member */

/* Require the deflate stream to end here, at its packed size. */
static void inflate_end(tg_archive_reader *r)
{
    tg_zip_entry *e = current(r);

    while (!r->ended && !r->status)
        if (inflate_step(r, r->scratch, 1) > 0)
            bad(r, "it inflates to more than %llu bytes", (unsigned long long)e->size);
    if (r->packed_known && r->packed_done != e->packed)
        bad(r, "its deflate data ends after %llu of %llu bytes", (unsigned long long)r->packed_done,
            (unsigned long long)e->packed);
    if (r->canonical && r->packed_crc != e->packed_crc)
        bad(r, "damaged: the CRC-32 of its deflate data is %08x, expected %08x", r->packed_crc,
            e->packed_crc);
    e->packed = r->packed_done;
}

/* Read the CRC-32 and the sizes, which the header omits, from the descriptor after the content. */
static void read_descriptor(tg_archive_reader *r)
{
    tg_zip_entry *e = current(r);
    tg_source *s = &r->source;
    size_t n = r->wide_descriptor ? 24 : 16;
    uint64_t packed, size;

    if (!tg_zip_need(r, n, "a data descriptor"))
        return;
    if (memcmp(s->next, "PK\7\10", 4) != 0)
        bad(r, "no data descriptor at offset %llu", (unsigned long long)s->at);
    e->crc = tg_get32(s->next + 4);
    packed = r->wide_descriptor ? tg_get64(s->next + 8) : tg_get32(s->next + 8);
    size = r->wide_descriptor ? tg_get64(s->next + 16) : tg_get32(s->next + 12);
    if (packed != r->packed_done || size != r->done)
        bad(r, "its descriptor says %llu bytes in %llu, got %llu in %llu", (unsigned long long)size,
            (unsigned long long)packed, (unsigned long long)r->done, (unsigned long long)r->packed_done);
    tg_source_skip(s, n);
}

tg_status tg_zip_verify(tg_archive_reader *r, tg_err *err)
{
    const tg_zip_entry *e = current(r);

    r->err = err;
    if (!r->sized)
        bad(r, "its size is unknown after %llu bytes", (unsigned long long)r->done);
    if (r->done != e->size)
        bad(r, "%llu of its bytes were not read", (unsigned long long)(e->size - r->done));
    if (e->method == TG_ZIP_DEFLATED)
        inflate_end(r);
    if (e->flags & TG_ZIP_FLAG_DESCRIPTOR)
        read_descriptor(r);
    if (r->crc != e->crc)
        bad(r, "damaged: the CRC-32 of its %llu bytes is %08x, expected %08x", (unsigned long long)e->size,
            r->crc, e->crc);
    r->open = false;
    return r->status;
}

/* ---- events */

tg_status tg_zip_next(tg_archive_reader *r, const tg_zip_entry **e, tg_archive_event *event, tg_err *err)
{
    const tg_source *s = &r->source;

    *e = NULL;
    *event = TG_ARCHIVE_EOF;
    r->err = err;
    if (r->status)
        return r->status;
    assert(!r->open);
    if ((!r->inside && !begin_archive(r)) || !tg_zip_need(r, 4, "a header"))
        return r->status;
    if (tg_zip_magic(s->next, 4)) {
        *event = TG_ARCHIVE_ARRAY;
        read_local(r);
        *e = r->status ? NULL : current(r);
    } else {
        *event = TG_ARCHIVE_END;
        r->inside = false;
        tg_zip_read_end(r);
    }
    return r->status;
}
