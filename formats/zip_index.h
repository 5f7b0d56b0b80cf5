/*
 * zip_index: the members of a ZIP file that is in memory as a whole, found through its central
 * directory.  For files of stored members, as PyTorch writes them; formats/zip.h reads archives
 * front to back.
 *
 * Every member's local header must agree with the directory, and members must not overlap.  What a
 * member holds is checked on request.
 */
#ifndef TG_FORMATS_ZIP_INDEX_H
#define TG_FORMATS_ZIP_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/span.h"
#include "lib/base/status.h"

typedef struct tg_zip_member {
    tg_span name;              /* in the file; any bytes */
    const unsigned char *data; /* [n] in the file */
    size_t n;
    uint64_t header; /* offset of the local header */
    uint32_t crc;
    bool checked; /* the data has this CRC-32 */
} tg_zip_member;

typedef struct tg_zip_index {
    tg_zip_member *member; /* [n] in the order of their names; owned */
    size_t n;
} tg_zip_index;

/* Read the directory of file [n], which must outlive the index.  TG_EDATA: damaged, compressed or
 * encrypted members, two of one name.  TG_ENOMEM.  *index can be freed either way.  O(m log m) for m members.
 */
TG_MUST_CHECK tg_status tg_zip_index_read(tg_zip_index *index, const void *file, size_t n, tg_err *err);

/* NULL: there is none of that name. */
tg_zip_member *tg_zip_index_find(const tg_zip_index *index, tg_span name);

/* Compare the data with its CRC-32, unless that was done before.  TG_EDATA. */
TG_MUST_CHECK tg_status tg_zip_member_check(tg_zip_member *member, tg_err *err);

/* A zeroed index is fine. */
void tg_zip_index_free(tg_zip_index *index);

#endif
