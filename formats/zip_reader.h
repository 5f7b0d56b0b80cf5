/*
 * zip_reader: what the two halves of the reader share; for zip_read.c and
 * zip_end.c only.
 */
#ifndef TG_FORMATS_ZIP_READER_H
#define TG_FORMATS_ZIP_READER_H

#include <zlib.h>

#include "formats/source.h"
#include "formats/zip.h"

#define TG_ZIP_FULL 0xFFFFFFFFu /* "look in the zip64 field" */

struct tg_zip_reader {
    tg_source source;
    tg_zip_list list; /* members of the current archive */
    uint64_t start;   /* offset of the archive in the input */
    bool inside;      /* an archive has begun */
    bool canonical;   /* it has our fingerprint */

    /* the current member, list.entry[list.count - 1] */
    bool open;         /* not yet verified */
    bool sized;        /* its size is known */
    bool packed_known; /* how many bytes it takes in the file is known */
    bool wide;         /* its descriptor has 64-bit sizes */
    bool ended;        /* its deflate stream has ended */
    uint64_t done, packed_done;
    uint32_t crc, packed_crc; /* of what was done */

    z_stream z;
    bool z_ready;
    unsigned char scratch[16384]; /* output that nobody wants */
};

/* Find the zip64 field in the extra fields [n]: *at is its content [*size], NULL when
 * there is none.  Returns NULL, or what is wrong with them. */
const char *tg_zip_find_wide(const unsigned char *extra, size_t n, const unsigned char **at, size_t *size);

/* A number of 32 bits, or when it is all ones the next 64 of the zip64 field; false
 * when that has no more. */
bool tg_zip_size64(uint64_t *value, uint32_t narrow, const unsigned char **at, size_t *n);

/* Read what follows the last member, and compare it with what was seen. */
TG_MUST_CHECK tg_status tg_zip_read_end(tg_zip_reader *r, tg_err *err);

#endif
