/*
 * The end of an archive.  The central directory and the records after it must repeat
 * what the members' local headers said.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/zip.h"

/* ---- what both halves of the reader use */

void tg_zip_fail(tg_archive_reader *r, const char *format, ...)
{
    char message[TG_ERR_MAX];
    va_list ap;

    if (r->status)
        return;
    va_start(ap, format);
    vsnprintf(message, sizeof message, format, ap);
    va_end(ap);
    r->status = tg_fail(r->err, TG_EDATA, "%s", message);
}

bool tg_zip_need(tg_archive_reader *r, size_t n, const char *what)
{
    if (!r->status)
        r->status = tg_source_need(&r->source, n, what, r->err);
    return !r->status;
}

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

const char *tg_zip_central_sizes(const unsigned char *p, uint64_t *size, uint64_t *packed, uint64_t *offset)
{
    const unsigned char *wide;
    size_t left;
    const char *const fault =
        tg_zip_find_wide(p + TG_ZIP_CENTRAL + tg_get16(p + 28), tg_get16(p + 30), &wide, &left);

    if (fault)
        return fault;
    return tg_zip_size64(size, tg_get32(p + 24), &wide, &left) &&
                   tg_zip_size64(packed, tg_get32(p + 20), &wide, &left) &&
                   tg_zip_size64(offset, tg_get32(p + 42), &wide, &left)
               ? NULL
               : "a zip64 size is missing";
}

/* ---- the end of a canonical archive: byte for byte what tg writes */

static void match(tg_archive_reader *r, const unsigned char *want, size_t n, const char *what)
{
    tg_source *s = &r->source;
    size_t i = 0;

    if (!tg_zip_need(r, n, what))
        return;
    while (i < n && s->next[i] == want[i])
        i++;
    if (i < n)
        tg_zip_fail(r, "%s at offset %llu: byte %zu is 0x%02x, expected 0x%02x", what,
                    (unsigned long long)s->at, i, s->next[i], want[i]);
    else
        tg_source_skip(s, n);
}

static void canonical_end(tg_archive_reader *r)
{
    unsigned char want[TG_ZIP_CENTRAL_MAX > TG_ZIP_END_MAX ? TG_ZIP_CENTRAL_MAX : TG_ZIP_END_MAX];
    uint64_t at = r->source.at - r->start;
    size_t count = r->list.count;
    size_t pad = tg_zip_last_pad(r->list.entry, count, at);

    for (size_t i = 0; i < count && !r->status; i++)
        match(r, want, tg_zip_encode_central(want, &r->list.entry[i], i + 1 == count ? pad : 0),
              "the central directory");
    match(r, want, tg_zip_encode_end(want, count, at, r->source.at - r->start - at),
          "the end of the archive");
}

/* ---- the end of a foreign archive */

/* A number in the directory, and its value according to the members. */
typedef struct claim {
    const char *what;
    uint64_t got, want;
} claim;

/* TG_EDATA when the directory and the members disagree. */
static void check_claims(tg_archive_reader *r, const tg_zip_entry *e, const claim *c, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (c[i].got != c[i].want)
            tg_zip_fail(r, "%s%s%sthe central directory says %s %llu, expected %llu (offset %llu)",
                        e ? "member \"" : "", e ? e->name : "", e ? "\": " : "", c[i].what,
                        (unsigned long long)c[i].got, (unsigned long long)c[i].want,
                        (unsigned long long)r->source.at);
}

static void read_central(tg_archive_reader *r, const tg_zip_entry *e)
{
    tg_source *s = &r->source;
    const unsigned char *p;
    const char *fault;
    size_t name, extra, comment;
    uint64_t size, packed, offset;

    if (!tg_zip_need(r, TG_ZIP_CENTRAL, "the central directory"))
        return;
    if (memcmp(s->next, "PK\1\2", 4) != 0)
        tg_zip_fail(r, "the central directory lacks member \"%s\" (offset %llu)", e->name,
                    (unsigned long long)s->at);
    name = tg_get16(s->next + 28);
    extra = tg_get16(s->next + 30);
    comment = tg_get16(s->next + 32);
    if (name != strlen(e->name) || comment > 1024)
        tg_zip_fail(r,
                    "member \"%s\": the central directory has a name of %zu bytes and a comment of %zu,"
                    " expected %zu and at most 1024",
                    e->name, name, comment, strlen(e->name));
    if (!tg_zip_need(r, TG_ZIP_CENTRAL + name + extra + comment, "the central directory"))
        return;
    p = s->next;
    if (memcmp(p + TG_ZIP_CENTRAL, e->name, name) != 0)
        tg_zip_fail(r, "the central directory has a different name for member \"%s\" (offset %llu)", e->name,
                    (unsigned long long)s->at);
    check_claims(r, e,
                 (claim[]){
                     {"flags", tg_get16(p + 8), e->flags},
                     {"method", tg_get16(p + 10), e->method},
                     {"time", tg_get16(p + 12), e->time},
                     {"date", tg_get16(p + 14), e->date},
                     {"CRC-32", tg_get32(p + 16), e->crc},
                     {"disk", tg_get16(p + 34), 0},
                 },
                 6);
    if ((fault = tg_zip_central_sizes(p, &size, &packed, &offset)))
        tg_zip_fail(r, "member \"%s\" in the central directory: %s", e->name, fault);
    else
        check_claims(r, e,
                     (claim[]){
                         {"size", size, e->size},
                         {"packed size", packed, e->packed},
                         {"offset", offset, e->offset},
                     },
                     3);
    tg_source_skip(s, TG_ZIP_CENTRAL + name + extra + comment);
}

/* The zip64 end record and its locator. */
static void read_end64(tg_archive_reader *r, uint64_t directory, uint64_t size)
{
    const unsigned char *p;

    if (!tg_zip_need(r, 56 + 20, "the zip64 end of the archive"))
        return;
    p = r->source.next;
    check_claims(r, NULL,
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
                     {"disks", tg_get32(p + 72), tg_get32(p + 72) > 1 ? 1 : tg_get32(p + 72)},
                 },
                 10);
    tg_source_skip(&r->source, 56 + 20);
}

static void read_end(tg_archive_reader *r, uint64_t directory, uint64_t size, bool zip64)
{
    const tg_source *s = &r->source;
    const unsigned char *p;
    size_t comment, count = r->list.count;

    if (!tg_zip_need(r, TG_ZIP_END, "the end of the archive"))
        return;
    p = s->next;
    if (memcmp(p, "PK\5\6", 4) != 0)
        tg_zip_fail(r, "the central directory does not end after %zu members (offset %llu)", count,
                    (unsigned long long)s->at);
    check_claims(
        r, NULL,
        (claim[]){
            {"disk", tg_get16(p + 4) | tg_get16(p + 6), 0},
            {"members here", tg_get16(p + 8), zip64 && tg_get16(p + 8) == 0xFFFF ? 0xFFFF : count},
            {"members", tg_get16(p + 10), zip64 && tg_get16(p + 10) == 0xFFFF ? 0xFFFF : count},
            {"bytes", tg_get32(p + 12), zip64 && tg_get32(p + 12) == TG_ZIP_FULL ? TG_ZIP_FULL : size},
            {"offset", tg_get32(p + 16), zip64 && tg_get32(p + 16) == TG_ZIP_FULL ? TG_ZIP_FULL : directory},
        },
        5);
    comment = tg_get16(p + 20);
    if (tg_zip_need(r, TG_ZIP_END + comment, "the archive's comment"))
        tg_source_skip(&r->source, TG_ZIP_END + comment);
}

static void foreign_end(tg_archive_reader *r)
{
    tg_source *s = &r->source;
    uint64_t directory = s->at - r->start, size;
    bool zip64;

    for (size_t i = 0; i < r->list.count && !r->status; i++)
        read_central(r, &r->list.entry[i]);
    size = s->at - r->start - directory;
    zip64 = tg_zip_need(r, 4, "the end of the archive") && memcmp(s->next, "PK\6\6", 4) == 0;
    if (zip64)
        read_end64(r, directory, size);
    read_end(r, directory, size, zip64);
}

/* ---- the end of any archive */

void tg_zip_read_end(tg_archive_reader *r)
{
    const tg_source *s = &r->source;

    if (r->canonical)
        canonical_end(r);
    else if (memcmp(s->next, "PK\1\2", 4) != 0)
        tg_zip_fail(r, "no zip header at offset %llu: 0x%08x", (unsigned long long)s->at, tg_get32(s->next));
    else
        foreign_end(r);
}
