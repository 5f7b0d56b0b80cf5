/*
 * zip_reader: the state shared by the two halves of the reader, zip_read.c and
 * zip_end.c, and zip64 fields, which zip_index.c reads too.  For these three only.
 */
#ifndef TG_FORMATS_ZIP_READER_H
#define TG_FORMATS_ZIP_READER_H

#include <zlib.h>

#include "formats/source.h"
#include "formats/zip.h"

#define TG_ZIP_FULL 0xFFFFFFFFu /* "look in the zip64 field" */

struct tg_zip_reader {
    tg_status status; /* of the first failure; after it nothing is read */
    tg_err *err;      /* of the current call */
    tg_source source;
    tg_zip_list list; /* members of the current archive */
    uint64_t start;   /* offset of the archive in the input */
    bool inside;      /* an archive has begun */
    bool canonical;   /* it is marked as written by tg */

    /* the current member, list.entry[list.count - 1] */
    bool open;                  /* not yet verified */
    bool sized;                 /* its size is known */
    bool packed_known;          /* its packed size is known */
    bool wide_descriptor;       /* its descriptor has 64-bit sizes */
    bool ended;                 /* its deflate stream has ended */
    uint64_t done, packed_done; /* bytes so far */
    uint32_t crc, packed_crc;   /* of these */

    z_stream z;
    bool z_ready;
    unsigned char scratch[16384]; /* for output to skip */
};

/* Find the zip64 field in the extra fields [n]: *at is its content [*size], NULL when
 * it is missing.  Returns what is wrong with the fields; NULL: nothing. */
const char *tg_zip_find_wide(const unsigned char *extra, size_t n, const unsigned char **at, size_t *size);

/* *value = `narrow`, or, when that is TG_ZIP_FULL, the next 8 bytes of the zip64 field.
 * False when the field has no more. */
bool tg_zip_size64(uint64_t *value, uint32_t narrow, const unsigned char **at, size_t *n);

/* Whether the source has n more bytes.  TG_EDATA: `what` is truncated; TG_EIO. */
bool tg_zip_need(tg_zip_reader *r, size_t n, const char *what);

/* TG_EDATA. */
void tg_zip_fail(tg_zip_reader *r, const char *format, ...) TG_PRINTF(2, 3);

/* Read what follows the last member and compare it with the members. */
void tg_zip_read_end(tg_zip_reader *r);

#endif
