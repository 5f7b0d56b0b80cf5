/*
 * The canonical form of every structure around the members' content.  The writer
 * writes it; the reader encodes the values that it has parsed once more and compares, so
 * that no bit of an archive that tg wrote can change unnoticed.
 */
#include <string.h>

#include "formats/zip.h"
#include "lib/base/grow.h"

#define MADE_BY 0x032D /* Unix, 4.5 */
#define NEEDED 20      /* deflate */
#define NEEDED_ZIP64 45
#define DATE_1980_01_01 0x0021
#define ATTRIBUTES 0x81A40000u /* a regular file, rw-r--r-- */
#define EXTRA_ID 0x6774        /* "tg" */
#define EXTRA_MAGIC "npz1"
#define EXTRA_MIN 12 /* id, size, magic, packed_crc */
#define ZIP64_ID 1
#define FULL TG_ZIP_FULL

/* A position to write at, which each put advances. */
typedef struct cursor {
    unsigned char *p;
} cursor;

static void put(cursor *c, uint64_t value, size_t bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        *c->p++ = (unsigned char)(value & 0xFF);
}

static void put_bytes(cursor *c, const void *bytes, size_t n)
{
    memcpy(c->p, bytes, n);
    c->p += n;
}

/* The smallest padding, at least `min` bytes, that brings `at` to a boundary. */
static size_t pad_to(uint64_t at, size_t min)
{
    return min + (size_t)(-(at + min) % TG_ZIP_ALIGN);
}

/* Both sizes go into a zip64 extra field when either does not fit. */
static bool wide_sizes(const tg_zip_entry *e)
{
    return e->size >= FULL || e->packed >= FULL;
}

static size_t zip64_bytes(const tg_zip_entry *e, bool central)
{
    size_t n = (wide_sizes(e) ? 16u : 0u) + (central && e->offset >= FULL ? 8u : 0u);

    return n > 0 ? 4 + n : 0;
}

static void put_zip64(cursor *c, const tg_zip_entry *e, bool central)
{
    size_t n = zip64_bytes(e, central);

    if (n == 0)
        return;
    put(c, ZIP64_ID, 2);
    put(c, n - 4, 2);
    if (wide_sizes(e)) {
        put(c, e->size, 8);
        put(c, e->packed, 8);
    }
    if (central && e->offset >= FULL)
        put(c, e->offset, 8);
}

/* From "version needed" to the sizes: the same in both headers. */
static void put_common(cursor *c, const tg_zip_entry *e, size_t zip64)
{
    put(c, zip64 > 0 ? NEEDED_ZIP64 : NEEDED, 2);
    put(c, 0, 2); /* flags */
    put(c, e->method, 2);
    put(c, 0, 2); /* time */
    put(c, DATE_1980_01_01, 2);
    put(c, e->crc, 4);
    put(c, wide_sizes(e) ? FULL : e->packed, 4);
    put(c, wide_sizes(e) ? FULL : e->size, 4);
    put(c, strlen(e->name), 2);
}

size_t tg_zip_encode_local(unsigned char *out, const tg_zip_entry *e)
{
    cursor c = {out};
    size_t zip64 = zip64_bytes(e, false);
    size_t pad = pad_to(e->offset + TG_ZIP_LOCAL + strlen(e->name) + zip64, EXTRA_MIN);

    put_bytes(&c, "PK\3\4", 4);
    put_common(&c, e, zip64);
    put(&c, pad + zip64, 2);
    put_bytes(&c, e->name, strlen(e->name));
    put(&c, EXTRA_ID, 2);
    put(&c, pad - 4, 2);
    put_bytes(&c, EXTRA_MAGIC, 4);
    put(&c, e->packed_crc, 4);
    put(&c, 0, pad - EXTRA_MIN);
    put_zip64(&c, e, false);
    return (size_t)(c.p - out);
}

size_t tg_zip_encode_central(unsigned char *out, const tg_zip_entry *e, size_t pad)
{
    cursor c = {out};
    size_t zip64 = zip64_bytes(e, true);

    put_bytes(&c, "PK\1\2", 4);
    put(&c, MADE_BY, 2);
    put_common(&c, e, zip64);
    put(&c, pad + zip64, 2);
    put(&c, 0, 6); /* comment, disk, internal attributes */
    put(&c, ATTRIBUTES, 4);
    put(&c, e->offset >= FULL ? FULL : e->offset, 4);
    put_bytes(&c, e->name, strlen(e->name));
    if (pad > 0) {
        put(&c, EXTRA_ID, 2);
        put(&c, pad - 4, 2);
        put(&c, 0, pad - 4);
    }
    put_zip64(&c, e, true);
    return (size_t)(c.p - out);
}

size_t tg_zip_encode_end(unsigned char *out, size_t count, uint64_t directory, uint64_t directory_size)
{
    cursor c = {out};

    if (directory >= FULL) {
        put_bytes(&c, "PK\6\6", 4);
        put(&c, 44, 8); /* bytes left in this record */
        put(&c, MADE_BY, 2);
        put(&c, NEEDED_ZIP64, 2);
        put(&c, 0, 8); /* disks */
        put(&c, count, 8);
        put(&c, count, 8);
        put(&c, directory_size, 8);
        put(&c, directory, 8);
        put_bytes(&c, "PK\6\7", 4);
        put(&c, 0, 4); /* disk */
        put(&c, directory + directory_size, 8);
        put(&c, 1, 4); /* disks in all */
    }
    put_bytes(&c, "PK\5\6", 4);
    put(&c, 0, 4); /* disks */
    put(&c, count, 2);
    put(&c, count, 2);
    put(&c, directory_size, 4);
    put(&c, directory >= FULL ? FULL : directory, 4);
    put(&c, 0, 2); /* comment */
    return (size_t)(c.p - out);
}

size_t tg_zip_last_pad(const tg_zip_entry *entries, size_t count, uint64_t directory)
{
    uint64_t at = directory + (directory >= FULL ? TG_ZIP_END_MAX : TG_ZIP_END);

    for (size_t i = 0; i < count; i++)
        at += TG_ZIP_CENTRAL + strlen(entries[i].name) + zip64_bytes(&entries[i], true);
    return pad_to(at, 4);
}

bool tg_zip_is_canonical_extra(const unsigned char *extra, size_t n)
{
    /* Either suffices: one flipped bit must not make the archive count as foreign. */
    return (n >= 2 && tg_get16(extra) == EXTRA_ID) || (n >= 8 && memcmp(extra + 4, EXTRA_MAGIC, 4) == 0);
}

uint32_t tg_zip_extra_crc(const unsigned char *extra, size_t n)
{
    return n >= EXTRA_MIN ? tg_get32(extra + 8) : 0;
}

const char *tg_zip_name_fault(const char *name, size_t n)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-";
    size_t begin = 0; /* of the current part between slashes */

    if (n == 0)
        return "is empty";
    if (n > TG_ZIP_NAME_MAX)
        return "is longer than 127 bytes plus .npy";
    for (size_t i = 0; i < n; i++)
        if (name[i] == '\0' || !strchr(allowed, name[i]))
            return "has bytes other than A-Z a-z 0-9 . _ / -";
    if (name[0] == '/')
        return "is an absolute path";
    for (size_t i = 0; i <= n; i++) {
        if (i < n && name[i] != '/')
            continue;
        if (i - begin == 2 && name[begin] == '.' && name[begin + 1] == '.')
            return "has a \"..\" part";
        if (i == begin || (i - begin == 1 && name[begin] == '.'))
            return "has an empty part";
        begin = i + 1;
    }
    return NULL;
}

static uint32_t hash_name(const char *name, size_t n)
{
    uint32_t h = 2166136261u; /* FNV-1a */

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)name[i]) * 16777619u;
    return h;
}

tg_status tg_zip_list_slot(tg_zip_list *list, tg_zip_entry **slot, const char *name, size_t n, tg_err *err)
{
    uint32_t hash = hash_name(name, n);
    tg_status status = tg_grow(&list->entry, &list->capacity, list->count + 1, sizeof *list->entry,
                               "the list of members", err);

    *slot = NULL;
    if (status)
        return status;
    for (size_t i = 0; i < list->count; i++) {
        const tg_zip_entry *e = &list->entry[i];

        if (e->hash == hash && strlen(e->name) == n && memcmp(e->name, name, n) == 0)
            return TG_OK;
    }
    *slot = &list->entry[list->count];
    **slot = (tg_zip_entry){.hash = hash};
    memcpy((*slot)->name, name, n);
    return TG_OK;
}

bool tg_zip_magic(const void *first, size_t n)
{
    return n >= 4 && memcmp(first, "PK\3\4", 4) == 0;
}
