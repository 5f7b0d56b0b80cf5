#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "formats/format.h"
#include "formats/zip.h"
#include "formats/zip_reader.h"
#include "lib/base/size.h"

#define LOCAL 30               /* bytes of a local header before the name */
#define STEP ((size_t)1 << 30) /* zlib counts in unsigned int */
#define INFLATE_MAX 1032       /* max bytes of output per byte of deflate data */

#define FLAG_ENCRYPTED 0x0001
#define FLAG_DESCRIPTOR 0x0008
#define FLAGS_KNOWN 0x080E /* descriptor, deflate's level, UTF-8 names */

bool tg_zip_canonical(const tg_zip_reader *r)
{
    return r->canonical;
}

void tg_zip_forget(const tg_zip_reader *r)
{
    tg_source_forget(&r->source);
}

uint64_t tg_zip_max_bytes(const tg_zip_reader *r)
{
    const uint64_t size = r->source.at + r->source.ready;

    /* unreached: a mapped file has fewer than 2^53 bytes */
    return !r->source.map || size > UINT64_MAX / INFLATE_MAX ? UINT64_MAX : size * INFLATE_MAX;
}

/* ---- messages */

static tg_zip_entry *current(tg_zip_reader *r)
{
    return &r->list.entry[r->list.count - 1];
}

TG_PRINTF(3, 4) static tg_status bad(tg_zip_reader *r, tg_err *err, const char *format, ...)
{
    char why[TG_ERR_MAX / 2];
    const tg_zip_entry *e = current(r);
    va_list ap;

    va_start(ap, format);
    vsnprintf(why, sizeof why, format, ap);
    va_end(ap);
    return tg_fail(err, TG_EDATA, "member \"%s\" at offset %llu: %s", e->name,
                   (unsigned long long)(r->start + e->offset), why);
}

/* ---- the start of an archive */

/* Start an archive, which must begin with a member.  *more = false at the end of the input. */
static tg_status begin(tg_zip_reader *r, bool *more, tg_err *err)
{
    tg_source *s = &r->source;
    const char *what;
    tg_status status = tg_source_peek(s, 4, err);

    *more = s->ready > 0;
    if (status || s->ready == 0)
        return status;
    r->start = s->at;
    r->list.count = 0;
    r->canonical = false;
    r->inside = true;
    if (tg_zip_magic(s->next, s->ready))
        return TG_OK;
    status = tg_source_peek(s, TG_FORMAT_BYTES, err);
    if (status)
        return status;
    what = tg_format_text(tg_format_recognize(s->next, s->ready));
    if (s->at > 0)
        return tg_fail(err, TG_EDATA, "trailing data after the archive, at offset %llu: %s",
                       (unsigned long long)s->at, what ? what : "unknown data");
    if (what)
        return tg_fail(err, TG_EDATA, "not an .npz archive: this is %s", what);
    return tg_fail(err, TG_EDATA,
                   "not an .npz archive: the first byte of %zu is 0x%02x, expected 0x50 (\"PK\")", s->ready,
                   s->next[0]);
}

tg_status tg_zip_open(tg_zip_reader **reader, tg_source *source, tg_err *err)
{
    tg_zip_reader *r = calloc(1, sizeof *r);
    bool more;
    tg_status status;

    *reader = NULL;
    if (!r) {
        tg_source_close(source);
        return tg_fail_memory(err, sizeof *r, "the archive reader");
    }
    r->source = *source;
    *source = (tg_source){.fd = -1};
    status = begin(r, &more, err);
    if (!status && !more)
        status = tg_fail(err, TG_EDATA, "not an .npz archive: the input is empty");
    if (status) {
        tg_zip_close(r);
        return status;
    }
    *reader = r;
    return TG_OK;
}

void tg_zip_close(tg_zip_reader *r)
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
static tg_status local_sizes(tg_zip_reader *r, const unsigned char *p, const unsigned char *extra, size_t n,
                             tg_err *err)
{
    tg_zip_entry *e = current(r);
    uint32_t size = tg_get32(p + 22), packed = tg_get32(p + 18);
    const unsigned char *wide;
    size_t left;
    const char *fault = tg_zip_find_wide(extra, n, &wide, &left);

    if (fault)
        return bad(r, err, "%s", fault);
    r->wide = wide != NULL;
    if (left >= 16) { /* both sizes, even where 32 bits suffice */
        e->size = tg_get64(wide);
        e->packed = tg_get64(wide + 8);
        if ((size != TG_ZIP_FULL && size != e->size) || (packed != TG_ZIP_FULL && packed != e->packed))
            return bad(r, err, "its zip64 sizes differ from those of its header");
    } else if (!tg_zip_size64(&e->size, size, &wide, &left) ||
               !tg_zip_size64(&e->packed, packed, &wide, &left)) {
        return bad(r, err, "a zip64 size is missing");
    }
    return TG_OK;
}

/* ---- local headers */

static tg_status check_method(tg_zip_reader *r, tg_err *err)
{
    const tg_zip_entry *e = current(r);

    if (e->flags & FLAG_ENCRYPTED)
        return bad(r, err, "it is encrypted");
    if (e->flags & ~FLAGS_KNOWN)
        return bad(r, err, "unknown flags 0x%04x", e->flags);
    if (e->method != TG_ZIP_STORED && e->method != TG_ZIP_DEFLATED)
        return bad(r, err, "compression method %u, expected 0 (stored) or 8 (deflate)", e->method);
    return TG_OK;
}

static tg_status check_sizes(tg_zip_reader *r, tg_err *err)
{
    const tg_zip_entry *e = current(r);

    if (!r->packed_known)
        return TG_OK;
    if (e->method == TG_ZIP_STORED && e->size != e->packed)
        return bad(r, err, "stored %llu bytes in %llu, expected equal sizes", (unsigned long long)e->size,
                   (unsigned long long)e->packed);
    if (e->method == TG_ZIP_DEFLATED && e->size / INFLATE_MAX > e->packed)
        return bad(r, err, "%llu bytes of deflate data cannot hold %llu", (unsigned long long)e->packed,
                   (unsigned long long)e->size);
    return TG_OK;
}

/* Refuse a size beyond the end of a mapped input before anything is read. */
static tg_status check_end(tg_zip_reader *r, tg_err *err)
{
    const tg_source *s = &r->source;
    const tg_zip_entry *e = current(r);

    if (!s->map || !r->packed_known || e->packed <= s->ready)
        return TG_OK;
    return bad(r, err, "truncated: expected %llu bytes at offset %llu, got %zu",
               (unsigned long long)e->packed, (unsigned long long)s->at, s->ready);
}

/* Require the header p [n] to be what tg writes. */
static tg_status check_canonical(tg_zip_reader *r, const unsigned char *p, size_t n, tg_err *err)
{
    unsigned char want[TG_ZIP_LOCAL_MAX];
    const size_t m = tg_zip_encode_local(want, current(r)), both = tg_size_min(n, m);
    size_t i = 0;

    while (i < both && p[i] == want[i])
        i++;
    if (i < tg_size_max(n, m))
        return bad(
            r, err,
            "byte %zu of its header differs from what tg writes: damaged, or changed by another program", i);
    return TG_OK;
}

/* Append an entry for the member with that name [n]. */
static tg_status add_member(tg_zip_reader *r, const unsigned char *name, size_t n, tg_err *err)
{
    unsigned long long at = r->source.at;
    const char *fault = tg_zip_name_fault((const char *)name, n);
    tg_zip_entry *e;
    tg_status status;

    if (fault)
        return tg_fail(err, TG_EDATA,
                       "the name of the member at offset %llu %s: damaged, or not an .npz archive", at,
                       fault);
    if (r->list.count == TG_NAMES_MAX)
        return tg_fail(err, TG_EDATA, "more than %d members (offset %llu)", TG_NAMES_MAX, at);
    status = tg_zip_list_slot(&r->list, &e, (const char *)name, n, err);
    if (status)
        return status;
    if (!e)
        return tg_fail(err, TG_EDATA, "duplicate member \"%.*s\" at offset %llu", (int)n, (const char *)name,
                       at);
    e->offset = r->source.at - r->start;
    r->list.count++;
    return TG_OK;
}

static void start_member(tg_zip_reader *r, const unsigned char *p)
{
    tg_zip_entry *e = current(r);

    e->flags = tg_get16(p + 6);
    e->method = tg_get16(p + 8);
    e->time = tg_get16(p + 10);
    e->date = tg_get16(p + 12);
    e->crc = tg_get32(p + 14);
    r->open = true;
    r->sized = r->packed_known = !(e->flags & FLAG_DESCRIPTOR);
    r->ended = false;
    r->done = r->packed_done = 0;
    r->crc = r->packed_crc = 0;
}

static tg_status inflate_start(tg_zip_reader *r, tg_err *err)
{
    if (current(r)->method != TG_ZIP_DEFLATED)
        return TG_OK;
    if (r->z_ready)
        inflateReset(&r->z);
    else if (inflateInit2(&r->z, -MAX_WBITS) != Z_OK)
        return tg_fail_memory(err, 1u << 16, "the decompressor");
    r->z_ready = true;
    return TG_OK;
}

static tg_status read_local(tg_zip_reader *r, tg_err *err)
{
    tg_source *s = &r->source;
    size_t name, extra;
    const unsigned char *p;
    tg_status status = tg_source_need(s, LOCAL, "a member's header", err);

    if (status)
        return status;
    name = tg_get16(s->next + 26);
    extra = tg_get16(s->next + 28);
    if (name > TG_ZIP_NAME_MAX) /* the header might also exceed TG_SOURCE_PEEK */
        return tg_fail(err, TG_EDATA,
                       "the name of the member at offset %llu has %zu bytes, expected at most %d",
                       (unsigned long long)s->at, name, TG_ZIP_NAME_MAX);
    if ((status = tg_source_need(s, LOCAL + name + extra, "a member's header", err)))
        return status;
    p = s->next;
    if ((status = add_member(r, p + LOCAL, name, err)))
        return status;
    start_member(r, p);
    if (r->list.count == 1)
        r->canonical = tg_zip_is_canonical_extra(p + LOCAL + name, extra);
    current(r)->packed_crc =
        current(r)->method == TG_ZIP_STORED ? current(r)->crc : tg_zip_extra_crc(p + LOCAL + name, extra);
    if ((status = check_method(r, err)) || (status = local_sizes(r, p, p + LOCAL + name, extra, err)) ||
        (status = check_sizes(r, err)))
        return status;
    if (r->canonical && (status = check_canonical(r, p, LOCAL + name + extra, err)))
        return status;
    tg_source_skip(s, LOCAL + name + extra);
    if ((status = check_end(r, err)))
        return status;
    return inflate_start(r, err);
}

/* ---- members' content */

static tg_status read_stored(tg_zip_reader *r, unsigned char *dst, size_t n, tg_err *err)
{
    tg_source *s = &r->source;

    while (n > 0) {
        size_t step = tg_size_min(n, STEP);
        tg_status status;

        if (dst) {
            if ((status = tg_source_read(s, dst, step, current(r)->name, err)))
                return status;
            r->crc = tg_crc32(r->crc, dst, step);
            dst += step;
        } else {
            if ((status = tg_source_need(s, 1, current(r)->name, err)))
                return status;
            step = tg_size_min(step, s->ready);
            r->crc = tg_crc32(r->crc, s->next, step);
            tg_source_skip(s, step);
        }
        n -= step;
        r->done += step;
        r->packed_done += step;
    }
    return TG_OK;
}

/* One call of inflate() with an output buffer dst [n], n >= 1.  *made = bytes written; 0 when
 * it only consumed input, or the stream has ended. */
static tg_status inflate_step(tg_zip_reader *r, unsigned char *dst, size_t n, size_t *made, tg_err *err)
{
    tg_source *s = &r->source;
    z_stream *z = &r->z;
    uint64_t left = r->packed_known ? current(r)->packed - r->packed_done : SIZE_MAX;
    size_t used;
    int result;

    if (left > 0) {
        tg_status status = tg_source_need(s, 1, current(r)->name, err);

        if (status)
            return status;
    }
    z->next_in = (z_const Bytef *)s->next;
    z->avail_in = (uInt)tg_size_min(tg_size_min(s->ready, STEP), left > STEP ? STEP : (size_t)left);
    z->next_out = dst;
    z->avail_out = (uInt)tg_size_min(n, STEP);
    result = inflate(z, Z_NO_FLUSH);
    used = (size_t)(z->next_in - s->next);
    *made = (size_t)(z->next_out - dst);
    r->packed_crc = tg_crc32(r->packed_crc, s->next, used);
    r->packed_done += used;
    tg_source_skip(s, used);
    if (result == Z_MEM_ERROR)
        return tg_fail_memory(err, 1u << 16, "the decompressor");
    if (result == Z_BUF_ERROR)
        return bad(r, err, "its deflate data ends after %llu bytes without an end mark",
                   (unsigned long long)r->packed_done);
    if (result != Z_OK && result != Z_STREAM_END)
        return bad(r, err, "its deflate data is damaged near offset %llu (%s)", (unsigned long long)s->at,
                   /* unreached: zlib asks for a dictionary only in its own format */
                   z->msg ? z->msg : "a dictionary is needed");
    r->ended = result == Z_STREAM_END;
    return TG_OK;
}

static tg_status read_deflated(tg_zip_reader *r, unsigned char *dst, size_t n, tg_err *err)
{
    while (n > 0) {
        unsigned char *to = dst ? dst : r->scratch;
        size_t made;
        tg_status status;

        if (r->ended)
            return bad(r, err, "it holds only %llu bytes, expected %llu", (unsigned long long)r->done,
                       (unsigned long long)(r->done + n));
        status = inflate_step(r, to, dst ? n : tg_size_min(n, sizeof r->scratch), &made, err);
        if (status)
            return status;
        r->crc = tg_crc32(r->crc, to, made);
        r->done += made;
        n -= made;
        if (dst)
            dst += made;
    }
    return TG_OK;
}

tg_status tg_zip_read(tg_zip_reader *r, void *dst, size_t n, tg_err *err)
{
    if (r->sized && n > current(r)->size - r->done)
        return bad(r, err, "it holds only %llu bytes, expected %llu", (unsigned long long)current(r)->size,
                   (unsigned long long)(r->done + n));
    return current(r)->method == TG_ZIP_DEFLATED ? read_deflated(r, dst, n, err)
                                                 : read_stored(r, dst, n, err);
}

tg_status tg_zip_expect(tg_zip_reader *r, uint64_t size, tg_err *err)
{
    tg_zip_entry *e = current(r);

    if (r->sized && e->size != size)
        return bad(r, err, "it holds %llu bytes, its array header says %llu", (unsigned long long)e->size,
                   (unsigned long long)size);
    e->size = size;
    r->sized = true;
    if (e->method == TG_ZIP_STORED) {
        e->packed = size;
        r->packed_known = true;
    }
    if (r->source.map && e->method == TG_ZIP_STORED && size - r->done > r->source.ready)
        return bad(r, err, "truncated: expected %llu bytes at offset %llu, got %zu",
                   (unsigned long long)(size - r->done), (unsigned long long)r->source.at, r->source.ready);
    return TG_OK;
}

tg_status tg_zip_map(tg_zip_reader *r, const void **data, size_t n, tg_err *err)
{
    const unsigned char *here = r->source.next;
    tg_status status;

    *data = NULL;
    if (!r->source.map || current(r)->method != TG_ZIP_STORED)
        return TG_OK;
    status = tg_zip_read(r, NULL, n, err);
    if (!status)
        status = tg_zip_verify(r, err);
    if (!status)
        *data = here;
    return status;
}

/* ---- the end of a member */

/* Require the deflate stream to end here, at its packed size. */
static tg_status inflate_end(tg_zip_reader *r, tg_err *err)
{
    tg_zip_entry *e = current(r);

    while (!r->ended) {
        size_t made;
        tg_status status = inflate_step(r, r->scratch, 1, &made, err);

        if (status)
            return status;
        if (made > 0)
            return bad(r, err, "it inflates to more than %llu bytes", (unsigned long long)e->size);
    }
    if (r->packed_known && r->packed_done != e->packed)
        return bad(r, err, "its deflate data ends after %llu of %llu bytes",
                   (unsigned long long)r->packed_done, (unsigned long long)e->packed);
    if (r->canonical && r->packed_crc != e->packed_crc)
        return bad(r, err, "damaged: the CRC-32 of its deflate data is %08x, expected %08x", r->packed_crc,
                   e->packed_crc);
    e->packed = r->packed_done;
    return TG_OK;
}

/* Read the CRC-32 and the sizes, which the header omits, from the descriptor after the content. */
static tg_status read_descriptor(tg_zip_reader *r, tg_err *err)
{
    tg_zip_entry *e = current(r);
    tg_source *s = &r->source;
    size_t n = r->wide ? 24 : 16;
    tg_status status = tg_source_need(s, n, "a data descriptor", err);
    uint64_t packed, size;

    if (status)
        return status;
    if (memcmp(s->next, "PK\7\10", 4) != 0)
        return bad(r, err, "no data descriptor at offset %llu", (unsigned long long)s->at);
    e->crc = tg_get32(s->next + 4);
    packed = r->wide ? tg_get64(s->next + 8) : tg_get32(s->next + 8);
    size = r->wide ? tg_get64(s->next + 16) : tg_get32(s->next + 12);
    if (packed != r->packed_done || size != r->done)
        return bad(r, err, "its descriptor says %llu bytes in %llu, got %llu in %llu",
                   (unsigned long long)size, (unsigned long long)packed, (unsigned long long)r->done,
                   (unsigned long long)r->packed_done);
    tg_source_skip(s, n);
    return TG_OK;
}

tg_status tg_zip_verify(tg_zip_reader *r, tg_err *err)
{
    tg_zip_entry *e;
    tg_status status = TG_OK;

    if (!r->open)
        return TG_OK;
    e = current(r);
    if (!r->sized)
        return bad(r, err, "its size is unknown after %llu bytes", (unsigned long long)r->done);
    if (r->done != e->size)
        return bad(r, err, "%llu of its bytes were not read", (unsigned long long)(e->size - r->done));
    if (e->method == TG_ZIP_DEFLATED)
        status = inflate_end(r, err);
    if (!status && (e->flags & FLAG_DESCRIPTOR))
        status = read_descriptor(r, err);
    if (!status && r->crc != e->crc)
        status = bad(r, err, "damaged: the CRC-32 of its %llu bytes is %08x, expected %08x",
                     (unsigned long long)e->size, r->crc, e->crc);
    r->open = false;
    return status;
}

/* ---- events */

tg_status tg_zip_next(tg_zip_reader *r, const tg_zip_entry **e, tg_zip_event *event, tg_err *err)
{
    tg_source *s = &r->source;
    bool more = true;
    tg_status status;

    assert(!r->open);
    if (!r->inside && (status = begin(r, &more, err)))
        return status;
    *event = TG_ZIP_EOF;
    if (!more)
        return TG_OK;
    if ((status = tg_source_need(s, 4, "a header", err)))
        return status;
    *event = TG_ZIP_MEMBER;
    if (tg_zip_magic(s->next, 4)) {
        status = read_local(r, err);
        *e = status ? NULL : current(r);
        return status;
    }
    *event = TG_ZIP_END;
    r->inside = false;
    return tg_zip_read_end(r, err);
}
