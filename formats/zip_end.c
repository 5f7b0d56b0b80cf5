/*
 * The end of an archive.  The central directory and the records after it must repeat
 * what the members' local headers said.
 */
#include <string.h>

#include "formats/zip.h"
#include "formats/zip_reader.h"

#define CENTRAL 46 /* bytes of a central entry before the name */

/* ---- zip64 fields */

const char *tg_zip_find_wide(const unsigned char *extra, size_t n, const unsigned char **at, size_t *size)
{
    *at = NULL;
    *size = 0;
    while (n >= 4) {
        size_t field = tg_get16(extra + 2);

        if (field > n - 4)
            return "an extra field is longer than the header";
        if (tg_get16(extra) == 1) {
            if (*at)
                return "two zip64 extra fields";
            *at = extra + 4;
            *size = field;
        }
        extra += 4 + field;
        n -= 4 + field;
    }
    return NULL;
}

bool tg_zip_size64(uint64_t *value, uint32_t narrow, const unsigned char **at, size_t *n)
{
    *value = narrow;
    if (narrow != TG_ZIP_FULL)
        return true;
    if (*n < 8)
        return false;
    *value = tg_get64(*at);
    *at += 8;
    *n -= 8;
    return true;
}

/* ---- the end of a canonical archive: byte for byte what tg writes */

static tg_status match(tg_zip_reader *r, const unsigned char *want, size_t n, const char *what, tg_err *err)
{
    tg_source *s = &r->source;
    tg_status status = tg_source_need(s, n, what, err);
    size_t i = 0;

    if (status)
        return status;
    while (i < n && s->next[i] == want[i])
        i++;
    if (i < n)
        return tg_fail(err, TG_EDATA, "%s at offset %llu: byte %zu is 0x%02x, expected 0x%02x", what,
                       (unsigned long long)s->at, i, s->next[i], want[i]);
    tg_source_skip(s, n);
    return TG_OK;
}

static tg_status canonical_end(tg_zip_reader *r, tg_err *err)
{
    unsigned char want[TG_ZIP_CENTRAL_MAX > TG_ZIP_END_MAX ? TG_ZIP_CENTRAL_MAX : TG_ZIP_END_MAX];
    uint64_t at = r->source.at - r->start;
    size_t count = r->list.count;
    size_t pad = tg_zip_last_pad(r->list.entry, count, at);

    for (size_t i = 0; i < count; i++) {
        size_t n = tg_zip_encode_central(want, &r->list.entry[i], i + 1 == count ? pad : 0);
        tg_status status = match(r, want, n, "the central directory", err);

        if (status)
            return status;
    }
    return match(r, want, tg_zip_encode_end(want, count, at, r->source.at - r->start - at),
                 "the end of the archive", err);
}

/* ---- the end of a foreign archive */

/* TG_EDATA when the directory and the members disagree. */
static tg_status same(tg_zip_reader *r, const tg_zip_entry *e, const char *what, uint64_t got, uint64_t want,
                      tg_err *err)
{
    if (got == want)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s%s%sthe central directory says %s %llu, expected %llu (offset %llu)",
                   e ? "member \"" : "", e ? e->name : "", e ? "\": " : "", what, (unsigned long long)got,
                   (unsigned long long)want, (unsigned long long)r->source.at);
}

/* A number in the directory, and its value according to the members. */
typedef struct claim {
    const char *what;
    uint64_t got, want;
} claim;

static tg_status check_claims(tg_zip_reader *r, const tg_zip_entry *e, const claim *c, size_t n, tg_err *err)
{
    for (size_t i = 0; i < n; i++) {
        tg_status status = same(r, e, c[i].what, c[i].got, c[i].want, err);

        if (status)
            return status;
    }
    return TG_OK;
}

/* Check sizes and offset of the central entry at p with its extra fields [n]. */
static tg_status central_sizes(tg_zip_reader *r, const tg_zip_entry *e, const unsigned char *p,
                               const unsigned char *extra, size_t n, tg_err *err)
{
    const unsigned char *wide;
    size_t left;
    uint64_t size, packed, offset;
    const char *fault = tg_zip_find_wide(extra, n, &wide, &left);

    if (!fault && !(tg_zip_size64(&size, tg_get32(p + 24), &wide, &left) &&
                    tg_zip_size64(&packed, tg_get32(p + 20), &wide, &left) &&
                    tg_zip_size64(&offset, tg_get32(p + 42), &wide, &left)))
        fault = "a zip64 size is missing";
    if (fault)
        return tg_fail(err, TG_EDATA, "member \"%s\" in the central directory: %s", e->name, fault);
    return check_claims(r, e,
                        (claim[]){
                            {"size", size, e->size},
                            {"packed size", packed, e->packed},
                            {"offset", offset, e->offset},
                        },
                        3, err);
}

static tg_status read_central(tg_zip_reader *r, const tg_zip_entry *e, tg_err *err)
{
    tg_source *s = &r->source;
    const unsigned char *p;
    size_t name, extra, comment;
    tg_status status = tg_source_need(s, CENTRAL, "the central directory", err);

    if (status)
        return status;
    if (memcmp(s->next, "PK\1\2", 4) != 0)
        return tg_fail(err, TG_EDATA, "the central directory lacks member \"%s\" (offset %llu)", e->name,
                       (unsigned long long)s->at);
    name = tg_get16(s->next + 28);
    extra = tg_get16(s->next + 30);
    comment = tg_get16(s->next + 32);
    if (name != strlen(e->name) || comment > 1024)
        return tg_fail(err, TG_EDATA,
                       "member \"%s\": the central directory has a name of %zu bytes and a comment of %zu,"
                       " expected %zu and at most 1024",
                       e->name, name, comment, strlen(e->name));
    status = tg_source_need(s, CENTRAL + name + extra + comment, "the central directory", err);
    if (status)
        return status;
    p = s->next;
    if (memcmp(p + CENTRAL, e->name, name) != 0)
        return tg_fail(err, TG_EDATA,
                       "the central directory has a different name for member \"%s\" (offset %llu)", e->name,
                       (unsigned long long)s->at);
    status = check_claims(r, e,
                          (claim[]){
                              {"flags", tg_get16(p + 8), e->flags},
                              {"method", tg_get16(p + 10), e->method},
                              {"time", tg_get16(p + 12), e->time},
                              {"date", tg_get16(p + 14), e->date},
                              {"CRC-32", tg_get32(p + 16), e->crc},
                              {"disk", tg_get16(p + 34), 0},
                          },
                          6, err);
    if (!status)
        status = central_sizes(r, e, p, p + CENTRAL + name, extra, err);
    tg_source_skip(s, CENTRAL + name + extra + comment);
    return status;
}

/* The zip64 end record and its locator. */
static tg_status read_end64(tg_zip_reader *r, uint64_t directory, uint64_t size, tg_err *err)
{
    tg_source *s = &r->source;
    const unsigned char *p;
    tg_status status = tg_source_need(s, 56 + 20, "the zip64 end of the archive", err);

    if (status)
        return status;
    p = s->next;
    status = check_claims(r, NULL,
                          (claim[]){
                              {"zip64 end bytes", tg_get64(p + 4), 44},
                              {"zip64 disk", tg_get32(p + 16) | tg_get32(p + 20), 0},
                              {"zip64 members here", tg_get64(p + 24), r->list.count},
                              {"zip64 members", tg_get64(p + 32), r->list.count},
                              {"zip64 directory bytes", tg_get64(p + 40), size},
                              {"zip64 directory offset", tg_get64(p + 48), directory},
                              {"zip64 locator", tg_get32(p + 56), 0x07064B50},
                              {"zip64 locator disk", tg_get32(p + 60), 0},
                              {"zip64 end offset", tg_get64(p + 64), directory + size},
                          },
                          9, err);
    if (!status && tg_get32(p + 72) > 1)
        status = same(r, NULL, "disks", tg_get32(p + 72), 1, err);
    tg_source_skip(s, 56 + 20);
    return status;
}

static tg_status read_end(tg_zip_reader *r, uint64_t directory, uint64_t size, bool zip64, tg_err *err)
{
    tg_source *s = &r->source;
    const unsigned char *p;
    size_t comment, count = r->list.count;
    tg_status status = tg_source_need(s, 22, "the end of the archive", err);

    if (status)
        return status;
    p = s->next;
    if (memcmp(p, "PK\5\6", 4) != 0)
        return tg_fail(err, TG_EDATA, "the central directory does not end after %zu members (offset %llu)",
                       count, (unsigned long long)s->at);
    status = check_claims(
        r, NULL,
        (claim[]){
            {"disk", tg_get16(p + 4) | tg_get16(p + 6), 0},
            {"members here", tg_get16(p + 8), zip64 && tg_get16(p + 8) == 0xFFFF ? 0xFFFF : count},
            {"members", tg_get16(p + 10), zip64 && tg_get16(p + 10) == 0xFFFF ? 0xFFFF : count},
            {"bytes", tg_get32(p + 12), zip64 && tg_get32(p + 12) == TG_ZIP_FULL ? TG_ZIP_FULL : size},
            {"offset", tg_get32(p + 16), zip64 && tg_get32(p + 16) == TG_ZIP_FULL ? TG_ZIP_FULL : directory},
        },
        5, err);
    if (status)
        return status;
    comment = tg_get16(p + 20);
    status = tg_source_need(s, 22 + comment, "the archive's comment", err);
    if (!status)
        tg_source_skip(s, 22 + comment);
    return status;
}

static tg_status foreign_end(tg_zip_reader *r, tg_err *err)
{
    tg_source *s = &r->source;
    uint64_t directory = s->at - r->start, size;
    bool zip64;
    tg_status status;

    for (size_t i = 0; i < r->list.count; i++)
        if ((status = read_central(r, &r->list.entry[i], err)))
            return status;
    size = s->at - r->start - directory;
    if ((status = tg_source_need(s, 4, "the end of the archive", err)))
        return status;
    zip64 = memcmp(s->next, "PK\6\6", 4) == 0;
    if (zip64 && (status = read_end64(r, directory, size, err)))
        return status;
    return read_end(r, directory, size, zip64, err);
}

/* ---- the end of any archive */

tg_status tg_zip_read_end(tg_zip_reader *r, tg_err *err)
{
    tg_source *s = &r->source;

    if (r->canonical)
        return canonical_end(r, err);
    if (memcmp(s->next, "PK\1\2", 4) != 0)
        return tg_fail(err, TG_EDATA, "no zip header at offset %llu: 0x%08x", (unsigned long long)s->at,
                       tg_get32(s->next));
    return foreign_end(r, err);
}
