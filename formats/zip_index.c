#include "formats/zip_index.h"

#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "formats/span.h"
#include "formats/zip.h"
#include "lib/base/size.h"

#define END64 56   /* bytes of the zip64 end record */
#define LOCATOR 20 /* ... of the zip64 locator */

typedef unsigned long long ull; /* for messages */

/* The file, and where its directory is. */
typedef struct archive {
    const unsigned char *file; /* [n] */
    size_t n;
    uint64_t directory, size, members; /* directory: its offset */
} archive;

/* TG_EDATA, with the member's name. */
static tg_status bad(const tg_zip_member *m, tg_err *err, const char *what)
{
    char name[TG_SHOWN_MAX];

    return tg_fail(err, TG_EDATA, "member \"%s\": %s", tg_shown(name, m->name), what);
}

/* ---- the end of the file */

/* Take the numbers of the zip64 end record at p. */
static tg_status read_end64(archive *a, const unsigned char *p, tg_err *err)
{
    if (memcmp(p, "PK\6\6", 4) != 0 || (tg_get32(p + 16) | tg_get32(p + 20)) != 0 ||
        tg_get64(p + 24) != tg_get64(p + 32))
        return tg_fail(err, TG_EDATA, "the zip64 end record at offset %llu is damaged", (ull)(p - a->file));
    a->members = tg_get64(p + 32);
    a->size = tg_get64(p + 40);
    a->directory = tg_get64(p + 48);
    return TG_OK;
}

/* Find the directory: it lies directly before the end records, which end the file. */
static tg_status read_end(archive *a, tg_err *err)
{
    uint64_t end = a->n - TG_ZIP_END;
    const unsigned char *p;
    tg_status status;

    if (a->n < TG_ZIP_END || memcmp(a->file + end, "PK\5\6", 4) != 0)
        return tg_fail(err, TG_EDATA, "no zip directory at the end of its %zu bytes: truncated", a->n);
    p = a->file + end;
    a->members = tg_get16(p + 10);
    a->size = tg_get32(p + 12);
    a->directory = tg_get32(p + 16);
    if ((tg_get16(p + 4) | tg_get16(p + 6)) != 0 || tg_get16(p + 8) != a->members)
        return tg_fail(err, TG_EDATA, "the zip file has several parts, or its end is damaged");
    if (end >= LOCATOR + END64 && memcmp(p - LOCATOR, "PK\6\7", 4) == 0) {
        end -= LOCATOR + END64;
        if (tg_get64(p - LOCATOR + 8) != end)
            return tg_fail(err, TG_EDATA, "the zip64 locator says offset %llu, expected %llu",
                           (ull)tg_get64(p - LOCATOR + 8), (ull)end);
        if ((status = read_end64(a, a->file + end, err)))
            return status;
    }
    if (a->size > end || a->directory != end - a->size)
        return tg_fail(err, TG_EDATA,
                       "the zip directory has %llu bytes at offset %llu, expected its end at %llu",
                       (ull)a->size, (ull)a->directory, (ull)end);
    if (a->members > a->size / TG_ZIP_CENTRAL)
        return tg_fail(err, TG_EDATA, "a zip directory of %llu bytes cannot list %llu members", (ull)a->size,
                       (ull)a->members);
    return TG_OK;
}

/* ---- members */

/* Compare the local header at m->header with the directory's entry p, and find the data. */
static tg_status read_local(const archive *a, tg_zip_member *m, const unsigned char *p, tg_err *err)
{
    const uint64_t room = a->directory - tg_size_min(m->header, a->directory); /* up to the directory */
    const unsigned char *local;
    size_t head;

    if (room < TG_ZIP_LOCAL)
        return bad(m, err, "its header is beyond the directory");
    local = a->file + m->header;
    if (memcmp(local, "PK\3\4", 4) != 0)
        return bad(m, err, "no header where the directory says");
    head = TG_ZIP_LOCAL + (size_t)tg_get16(local + 26) + tg_get16(local + 28);
    if (head > room || tg_get16(local + 26) != m->name.n ||
        memcmp(local + TG_ZIP_LOCAL, m->name.p, m->name.n) != 0)
        return bad(m, err, "its header has another name");
    if (tg_get16(local + 6) != tg_get16(p + 8) || tg_get16(local + 8) != tg_get16(p + 10))
        return bad(m, err, "its header has other flags");
    if (!(tg_get16(p + 8) & TG_ZIP_FLAG_DESCRIPTOR) &&
        (tg_get32(local + 14) != m->crc ||
         (tg_get32(local + 22) != TG_ZIP_FULL && tg_get32(local + 22) != m->n)))
        return bad(m, err, "its header has another size or CRC-32");
    if (m->n > room - head)
        return bad(m, err, "truncated, or longer than the file");
    m->data = local + head;
    return TG_OK;
}

/* Read the entry at offset *at of the directory, and advance *at. */
static tg_status read_entry(const archive *a, tg_zip_member *m, uint64_t *at, tg_err *err)
{
    const uint64_t room = a->directory + a->size - *at;
    const unsigned char *const p = a->file + *at;
    uint64_t size, packed;
    const char *fault;
    size_t bytes;
    tg_status status;

    if (room < TG_ZIP_CENTRAL || memcmp(p, "PK\1\2", 4) != 0)
        return tg_fail(err, TG_EDATA, "no entry of the zip directory at offset %llu", (ull)*at);
    *m = (tg_zip_member){.name = {(const char *)p + TG_ZIP_CENTRAL, tg_get16(p + 28)},
                         .crc = tg_get32(p + 16)};
    bytes = TG_ZIP_CENTRAL + m->name.n + tg_get16(p + 30) + tg_get16(p + 32);
    if (bytes > room)
        return tg_fail(err, TG_EDATA, "the entry of the zip directory at offset %llu is truncated", (ull)*at);
    if (tg_get16(p + 8) & ~TG_ZIP_FLAGS_KNOWN)
        return bad(m, err, "it is encrypted, or has unknown flags");
    if (tg_get16(p + 10) != TG_ZIP_STORED)
        return bad(m, err, "it is compressed, expected a stored member");
    if ((fault = tg_zip_central_sizes(p, &size, &packed, &m->header)))
        return bad(m, err, fault);
    /* unreached: size > SIZE_MAX, where a size_t has 64 bits */
    if (size != packed || size > SIZE_MAX)
        return bad(m, err, "stored with two sizes");
    m->n = (size_t)size;
    if (!(status = read_local(a, m, p, err)))
        *at += bytes;
    return status;
}

/* ---- the index */

static int compare_offsets(const void *a, const void *b)
{
    const tg_zip_member *const x = a, *const y = b;

    return (x->header > y->header) - (x->header < y->header);
}

static tg_status arrange(tg_zip_index *index, const unsigned char *file, tg_err *err)
{
    tg_zip_member *const m = index->member;

    qsort(m, index->n, sizeof *m, compare_offsets);
    for (size_t i = 1; i < index->n; i++)
        if (file + m[i].header < m[i - 1].data + m[i - 1].n)
            return bad(&m[i], err, "it overlaps another member");
    qsort(m, index->n, sizeof *m, tg_span_compare);
    for (size_t i = 1; i < index->n; i++)
        if (tg_span_compare(&m[i - 1], &m[i]) == 0)
            return bad(&m[i], err, "two members of this name");
    return TG_OK;
}

tg_status tg_zip_index_read(tg_zip_index *index, const void *file, size_t n, tg_err *err)
{
    archive a = {.file = file, .n = n};
    tg_status status;
    uint64_t at;

    *index = (tg_zip_index){0};
    if ((status = read_end(&a, err)))
        return status;
    at = a.directory;
    index->member = calloc((size_t)a.members + 1, sizeof *index->member);
    if (!index->member)
        return tg_fail_memory(err, a.members * sizeof *index->member, "the list of members");
    for (; !status && index->n < a.members; index->n++)
        status = read_entry(&a, &index->member[index->n], &at, err);
    if (!status && at != a.directory + a.size)
        return tg_fail(err, TG_EDATA, "the zip directory has data after its %zu members", index->n);
    return status ? status : arrange(index, file, err);
}

tg_zip_member *tg_zip_index_find(const tg_zip_index *index, tg_span name)
{
    return index->n == 0 ? NULL
                         : bsearch(&name, index->member, index->n, sizeof *index->member, tg_span_compare);
}

tg_status tg_zip_member_check(tg_zip_member *m, tg_err *err)
{
    char name[TG_SHOWN_MAX];
    uint32_t crc;

    if (m->checked)
        return TG_OK;
    crc = tg_crc32(0, m->data, m->n);
    if (crc != m->crc)
        return tg_fail(err, TG_EDATA,
                       "member \"%s\": damaged: the CRC-32 of its %zu bytes is %08x, expected %08x",
                       tg_shown(name, m->name), m->n, crc, m->crc);
    m->checked = true;
    return TG_OK;
}

void tg_zip_index_free(tg_zip_index *index)
{
    free(index->member);
    *index = (tg_zip_index){0};
}
