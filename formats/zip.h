/*
 * zip: members of a ZIP file, read and written strictly front to back: what archives (formats/archive.h)
 * stand on.
 *
 * formats/README.md specifies the bytes and their canonical values.  Offsets in an
 * entry count from the archive's first byte, offsets in messages from the input's.
 */
#ifndef TG_FORMATS_ZIP_H
#define TG_FORMATS_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <zlib.h>

#include "formats/archive.h"
#include "formats/source.h"
#include "formats/span.h"
#include "lib/base/status.h"

#define TG_ZIP_NAME_MAX (TG_NAME_MAX + 4) /* with ".npy" */
#define TG_ZIP_ALIGN 64                   /* alignment of members' content, and of archives */

#define TG_ZIP_STORED 0
#define TG_ZIP_DEFLATED 8

#define TG_ZIP_FLAG_DESCRIPTOR 0x0008
#define TG_ZIP_FLAGS_KNOWN 0x080E /* descriptor, deflate's level, UTF-8 names */

/* A member. */
typedef struct tg_zip_entry {
    char name[TG_ZIP_NAME_MAX + 1];
    uint32_t hash; /* of the name */
    uint16_t flags, method, time, date;
    uint32_t crc;        /* CRC-32 of the content */
    uint32_t packed_crc; /* ... and of the packed bytes (canonical archives only) */
    uint64_t size;       /* bytes of the content */
    uint64_t packed;     /* bytes of the packed content in the file */
    uint64_t offset;     /* of the local header */
} tg_zip_entry;

/* ---- the canonical form (zip_entry.c) */

#define TG_ZIP_LOCAL 30         /* bytes of a local header before the name, whose length is at 26 */
#define TG_ZIP_CENTRAL 46       /* ... of an entry of the central directory */
#define TG_ZIP_END 22           /* ... of the end record, before the comment */
#define TG_ZIP_FULL 0xFFFFFFFFu /* "look in the zip64 field" */
#define TG_ZIP_LOCAL_MAX 320    /* max bytes of a local header */
#define TG_ZIP_CENTRAL_MAX 320  /* ... of an entry of the central directory */
#define TG_ZIP_END_MAX 98       /* ... of the end records */

/* Write the structure to out.  Return the bytes used. */
size_t tg_zip_encode_local(unsigned char *out, const tg_zip_entry *e);
size_t tg_zip_encode_central(unsigned char *out, const tg_zip_entry *e, size_t pad);
size_t tg_zip_encode_end(unsigned char *out, size_t count, uint64_t directory, uint64_t directory_size);

/* Bytes of padding (at least 4) in the last entry of a central directory at offset
 * `directory`, which make the archive's size a multiple of 64. */
size_t tg_zip_last_pad(const tg_zip_entry *entries, size_t count, uint64_t directory);

/* Whether an extra field [n] begins like those that tg writes in local headers. */
bool tg_zip_is_canonical_extra(const unsigned char *extra, size_t n);

/* The packed_crc in such an extra field [n]; 0 when it is too short. */
uint32_t tg_zip_extra_crc(const unsigned char *extra, size_t n);

/* What is wrong with a member's name [n], to follow it in a message ("is empty"); NULL: nothing. */
const char *tg_zip_name_fault(const char *name, size_t n);

/* ---- members seen or written so far */

typedef struct tg_zip_list {
    tg_zip_entry *entry; /* [count] */
    size_t count, capacity;
} tg_zip_list;

/* Prepare a zeroed entry with that name [n] after the last; list->count++ adds it.
 * *slot = NULL when the list already has the name.  TG_ENOMEM.  O(count). */
TG_MUST_CHECK tg_status tg_zip_list_slot(tg_zip_list *list, tg_zip_entry **slot, const char *name, size_t n,
                                         tg_err *err);

/* ---- reading (zip_read.c, zip_end.c) */

struct tg_archive_reader {
    tg_status status; /* of the first failure; after it nothing is read */
    tg_err *err;      /* of the current call */
    tg_source source;
    tg_zip_list list; /* members of the current archive */
    uint64_t start;   /* offset of the archive in the input */
    bool inside;      /* an archive has begun */
    bool canonical;   /* it is marked as written by tg, and so must be canonical */

    /* the current member, list.entry[list.count - 1] */
    bool open;                  /* not yet verified */
    bool sized;                 /* its size is known */
    bool packed_known;          /* its packed size is known */
    bool wide_descriptor;       /* its descriptor has 64-bit sizes */
    bool ended;                 /* its deflate stream has ended */
    uint64_t done, packed_done; /* bytes so far */
    uint32_t crc, packed_crc;   /* of these */

    /* the array in it (archive.c) */
    char name[TG_NAME_MAX + 1];
    const unsigned char *data; /* unread data, when mapped */
    size_t left;               /* bytes not read yet */

    z_stream z;
    bool z_ready;
    unsigned char scratch[16384]; /* for output to skip */
};

/* Whether an input that begins with first [n] is a zip file with a member. */
bool tg_zip_magic(const void *first, size_t n);

/*
 * Advance to the next member (TG_ARCHIVE_ARRAY), the verified end of an archive, or the end of the input.
 * The previous member must have been read and verified (asserted).  *e is valid until
 * the next call.  TG_EDATA, TG_EIO, TG_ENOMEM.  After the first failure of any call all return its status
 * and do nothing; only that one has filled its err.
 */
TG_MUST_CHECK tg_status tg_zip_next(tg_archive_reader *r, const tg_zip_entry **e, tg_archive_event *event,
                                    tg_err *err);

/* Copy the next n bytes of the member into dst; NULL skips them.  TG_EDATA: fewer are left. */
TG_MUST_CHECK tg_status tg_zip_read(tg_archive_reader *r, void *dst, size_t n, tg_err *err);

/* Set the size that the member's content must have.  TG_EDATA: its header has another
 * size, or the file is too short.  Required once per member before its end, because a
 * header may omit the size. */
TG_MUST_CHECK tg_status tg_zip_expect(tg_archive_reader *r, uint64_t size, tg_err *err);

/* Consume and verify the remaining n bytes of the member and return them in place.
 * *data = NULL, with nothing read, when the input is not mapped or the member is compressed. */
TG_MUST_CHECK tg_status tg_zip_map(tg_archive_reader *r, const void **data, size_t n, tg_err *err);

/* After all bytes have been read, once: verify the checksum and what follows the content. */
TG_MUST_CHECK tg_status tg_zip_verify(tg_archive_reader *r, tg_err *err);

/* Whether the source has n more bytes.  TG_EDATA: `what` is truncated; TG_EIO. */
bool tg_zip_need(tg_archive_reader *r, size_t n, const char *what);

/* TG_EDATA. */
void tg_zip_fail(tg_archive_reader *r, const char *format, ...) TG_PRINTF(2, 3);

/* Read what follows the last member and compare it with the members. */
void tg_zip_read_end(tg_archive_reader *r);

/* ---- sizes of 64 bits */

/* Find the zip64 field in the extra fields [n]: *at is its content [*size], NULL when
 * it is missing.  Returns what is wrong with the fields; NULL: nothing. */
const char *tg_zip_find_wide(const unsigned char *extra, size_t n, const unsigned char **at, size_t *size);

/* *value = `narrow`, or, when that is TG_ZIP_FULL, the next 8 bytes of the zip64 field.
 * False when the field has no more. */
bool tg_zip_size64(uint64_t *value, uint32_t narrow, const unsigned char **at, size_t *n);

/* The same for the sizes and the offset in the entry of the central directory at p, all of whose bytes are
 * there.  Returns what is wrong; NULL: nothing. */
const char *tg_zip_central_sizes(const unsigned char *p, uint64_t *size, uint64_t *packed, uint64_t *offset);

/* ---- writing */

/* Append a member: head [head_size], then data [size].  TG_EUSAGE, TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_zip_put(tg_archive_writer *w, const char *name, const void *head, size_t head_size,
                                   const void *data, size_t size, tg_err *err);

/* The same of float32 values, n of them, which are bf16 in memory. */
TG_MUST_CHECK tg_status tg_zip_put_widened(tg_archive_writer *w, const char *name, const void *head,
                                           size_t head_size, const tg_bf16 *x, size_t n, tg_err *err);

#endif
