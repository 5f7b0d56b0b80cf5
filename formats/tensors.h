/*
 * tensors: named arrays from a file of weights, whatever its format.
 *
 *     tg_tensors_open(&t, &source, &err)
 *     while (!(status = tg_tensors_next(&t, &a, &more, &err)) && more)
 *         use a.data, or tg_tensors_read(&t, dst, a.bytes, &err)
 *     tg_tensors_close(&t)
 *
 * To add a format, write a tg_container and list it in tensors.c.  The archive (.npz) is
 * the first; it reports all its arrays, settings included, in stream order.  A format
 * with a directory of tensors at the start (safetensors, GGUF) reads that in open()
 * and reports tensors in the order of their data, so that it can read from a pipe, too.
 * Other contents of the file (a config, metadata) are read through the format's own
 * header, as archive.h is for archives.
 */
#ifndef TG_FORMATS_TENSORS_H
#define TG_FORMATS_TENSORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/array.h"
#include "formats/format.h"
#include "formats/source.h"
#include "lib/base/status.h"

/*
 * A format that holds named arrays.  Its functions implement tg_tensors_open() and the
 * others below on a reader of its own.  Before they report an array or allocate memory
 * for it, they check its name (unique, fits tg_array.name), type, shape, size
 * (tg_array_measure) and offset.
 */
typedef struct tg_container {
    tg_format format;
    tg_status (*open)(void **reader, tg_source *source, tg_err *err); /* NULL after a failure */
    tg_status (*next)(void *reader, tg_array *array, bool *more, tg_err *err);
    tg_status (*read)(void *reader, void *dst, size_t bytes, tg_err *err);
    uint64_t (*max_bytes)(const void *reader);
    void (*close)(void *reader);
} tg_container;

extern const tg_container tg_archive_container; /* archive.c; the reader is a tg_archive_reader */

/* A reader of one file; zeroed when closed. */
typedef struct tg_tensors {
    const tg_container *container;
    void *reader;
} tg_tensors;

/*
 * Recognize the format and read up to the first array.  Takes ownership of the source; a
 * failure closes it.  TG_EDATA: the format holds no tensors (the message says what it is
 * instead), or the file is damaged; TG_EIO, TG_ENOMEM.  *t is zeroed after a failure.
 */
TG_MUST_CHECK tg_status tg_tensors_open(tg_tensors *t, tg_source *source, tg_err *err);

/*
 * Advance to the next array; unread data of the current one is skipped.  *more = false at
 * the end: the file is complete, its checksums (if the format has any) match, and nothing
 * follows it.  TG_EDATA: damaged, truncated, a type or shape that tg_array cannot describe,
 * or trailing data; TG_EIO, TG_ENOMEM.  After a failure only close is legal.
 */
TG_MUST_CHECK tg_status tg_tensors_next(tg_tensors *t, tg_array *array, bool *more, tg_err *err);

/* Copy the next `bytes` bytes of the current array into dst; any number of calls may share
 * an array.  TG_EUSAGE: fewer are left.  TG_EDATA, TG_EIO as above. */
TG_MUST_CHECK tg_status tg_tensors_read(tg_tensors *t, void *dst, size_t bytes, tg_err *err);

/* An upper bound on the bytes of all arrays in the file; UINT64_MAX when unknown, as for a
 * pipe.  Lets a caller refuse a larger size before it allocates memory. */
uint64_t tg_tensors_max_bytes(const tg_tensors *t);

/* Close the reader; pointers in tg_array.data become invalid.  A zeroed *t is fine. */
void tg_tensors_close(tg_tensors *t);

#endif
