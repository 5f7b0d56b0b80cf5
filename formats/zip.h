/*
 * zip: members of a ZIP file, read and written strictly front to back.
 *
 * The bytes and their canonical values are in formats/README.md.  Offsets in an
 * entry count from the archive's first byte, those in messages from the input's.
 */
#ifndef TG_FORMATS_ZIP_H
#define TG_FORMATS_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/limits.h"
#include "formats/source.h"
#include "lib/base/status.h"

#define TG_ZIP_NAME_MAX (TG_NAME_MAX + 4) /* with ".npy" */
#define TG_ZIP_ALIGN 64                   /* members' bytes, and archives, start on such a boundary */

#define TG_ZIP_STORED 0
#define TG_ZIP_DEFLATED 8

/* A member. */
typedef struct tg_zip_entry {
    char name[TG_ZIP_NAME_MAX + 1];
    uint32_t hash; /* of the name */
    uint16_t flags, method, time, date;
    uint32_t crc;        /* CRC-32 of the content */
    uint32_t packed_crc; /* and of the bytes as they stand in the file (canonical archives) */
    uint64_t size;       /* bytes of the content */
    uint64_t packed;     /* bytes in the file */
    uint64_t offset;     /* of the local header */
} tg_zip_entry;

/* ---- the canonical form (zip_entry.c) */

#define TG_ZIP_LOCAL_MAX 320   /* bytes of an encoded local header */
#define TG_ZIP_CENTRAL_MAX 320 /* ... of an entry of the central directory */
#define TG_ZIP_END_MAX 98      /* ... of what ends an archive */

/* Each writes its structure to out and returns the bytes used. */
size_t tg_zip_encode_local(unsigned char *out, const tg_zip_entry *e);
size_t tg_zip_encode_central(unsigned char *out, const tg_zip_entry *e, size_t pad);
size_t tg_zip_encode_end(unsigned char *out, size_t count, uint64_t directory, uint64_t directory_size);

/* The padding, 4 bytes or more, which the last entry of a central directory that
 * starts at `directory` carries, so that the archive's size is a multiple of 64. */
size_t tg_zip_last_pad(const tg_zip_entry *entries, size_t count, uint64_t directory);

/* Whether an extra field [n] begins as those of our local headers do. */
bool tg_zip_is_canonical_extra(const unsigned char *extra, size_t n);

/* The packed_crc in the extra field [n] of one of our local headers, or 0. */
uint32_t tg_zip_extra_crc(const unsigned char *extra, size_t n);

/* NULL, or what is wrong with a member's name [n]. */
const char *tg_zip_name_fault(const char *name, size_t n);

/* ---- members seen or written so far */

typedef struct tg_zip_list {
    tg_zip_entry *entry; /* [count] */
    size_t count, room;
} tg_zip_list;

/* A zeroed entry of that name [n], not yet counted in (list->count++ does).
 * *slot = NULL when the name is there already.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_zip_list_slot(tg_zip_list *list, tg_zip_entry **slot, const char *name, size_t n,
                                         tg_err *err);

/* ---- reading */

typedef struct tg_zip_reader tg_zip_reader;

typedef enum tg_zip_event { TG_ZIP_MEMBER, TG_ZIP_END, TG_ZIP_EOF } tg_zip_event;

/* Whether `first`, the first n bytes of an input, begin a zip file with a member. */
bool tg_zip_magic(const void *first, size_t n);

/* As tg_archive_open_source(). */
TG_MUST_CHECK tg_status tg_zip_open(tg_zip_reader **reader, tg_source *source, tg_err *err);
void tg_zip_close(tg_zip_reader *reader);

/*
 * Go on: the next member, the verified end of an archive, or the end of the input.
 * The member before must have been read to its end.  *e is valid until the next
 * call.  TG_EDATA, TG_EIO, TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_zip_next(tg_zip_reader *r, const tg_zip_entry **e, tg_zip_event *event,
                                    tg_err *err);

/* As tg_archive_max_bytes(). */
uint64_t tg_zip_most(const tg_zip_reader *r);

/* Whether the current archive has our fingerprint, and so must be canonical. */
bool tg_zip_canonical(const tg_zip_reader *r);

/* n bytes more of the member into dst, or nowhere when dst is NULL.  TG_EDATA when it
 * has fewer. */
TG_MUST_CHECK tg_status tg_zip_read(tg_zip_reader *r, void *dst, size_t n, tg_err *err);

/* The member's content is `size` bytes: TG_EDATA when its header says something
 * else, or when it cannot be.  To be called before the end of each member, for a
 * header need not say it. */
TG_MUST_CHECK tg_status tg_zip_expect(tg_zip_reader *r, uint64_t size, tg_err *err);

/* The n bytes that are left of the member, in place: *data stays NULL when they are
 * not mapped as they are.  Reads the member to its end otherwise. */
TG_MUST_CHECK tg_status tg_zip_map(tg_zip_reader *r, const void **data, size_t n, tg_err *err);

/* All bytes have been read: verify the checksum and what follows.  Harmless when
 * that was done already. */
TG_MUST_CHECK tg_status tg_zip_verify(tg_zip_reader *r, tg_err *err);

/* ---- writing */

typedef struct tg_zip_writer tg_zip_writer;

/* As tg_archive_create() and its companions. */
TG_MUST_CHECK tg_status tg_zip_create(tg_zip_writer **writer, int fd, bool deflated, tg_err *err);
void tg_zip_abandon(tg_zip_writer *writer);

/* Append a member: head [head_size], then data [size], which may last (formats/sink.h:
 * tg_write_zero_copy).  TG_EUSAGE, TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_zip_put(tg_zip_writer *w, const char *name, const void *head, size_t head_size,
                                   const void *data, size_t size, bool zero_copy, tg_err *err);
TG_MUST_CHECK tg_status tg_zip_finish(tg_zip_writer *w, tg_err *err);

/* ---- little-endian numbers at p */

static inline uint16_t tg_get16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t tg_get32(const unsigned char *p)
{
    return (uint32_t)tg_get16(p) | (uint32_t)tg_get16(p + 2) << 16;
}

static inline uint64_t tg_get64(const unsigned char *p)
{
    return (uint64_t)tg_get32(p) | (uint64_t)tg_get32(p + 4) << 32;
}

#endif
