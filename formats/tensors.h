/*
 * tensors: named arrays from a file of weights, whatever its format.
 *
 *     tg_tensors_open(&t, &source, &err)
 *     while (!(status = tg_tensors_next(&t, &a, &more, &err)) && more)
 *         use a.data, or tg_tensors_read(&t, dst, a.bytes, &err)
 *     tg_tensors_close(&t)
 *
 * A format joins by a tg_container, listed in tensors.c.  The archive (.npz) is the
 * first; its arrays come as they arrive in the stream, settings among them.  A format
 * with a directory of tensors at the start (safetensors, GGUF) reads that in open(),
 * and reports tensors in the order of their data, so that a pipe will do there too.
 * What such a header says besides (a config, metadata) is for the functions of that
 * format's own header, as archive.h is for archives.
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
 * A format that holds named arrays.  Its functions do what tg_tensors_open() and the
 * others below say, on a reader of its own.  They check what a file claims before they
 * report it or allocate memory for it: names (tg_array.name, unique), types, shapes,
 * sizes (tg_array_measure), places in the file.
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

/* A reader of one file.  Zeroed: none. */
typedef struct tg_tensors {
    const tg_container *container;
    void *reader;
} tg_tensors;

/*
 * Recognize the format and read up to the first array.  Takes over the source, also when
 * it fails: *source is then closed.  TG_EDATA: no format that holds tensors (the message
 * says what the file is instead), or damaged; TG_EIO, TG_ENOMEM.  *t is zeroed after a failure.
 */
TG_MUST_CHECK tg_status tg_tensors_open(tg_tensors *t, tg_source *source, tg_err *err);

/*
 * The next array; what is left unread of the one before is skipped.  *more = false: there
 * is none, the file is complete, its checksums (where the format has some) are right, and
 * nothing follows it.  TG_EDATA: damaged, truncated, of a type or shape that no tg_array
 * has, or another file follows; TG_EIO, TG_ENOMEM.  After a failure only close is legal.
 */
TG_MUST_CHECK tg_status tg_tensors_next(tg_tensors *t, tg_array *array, bool *more, tg_err *err);

/* The next `bytes` bytes of the current array into dst, in as many calls as the caller
 * likes.  TG_EUSAGE: fewer are left of it.  TG_EDATA, TG_EIO as above. */
TG_MUST_CHECK tg_status tg_tensors_read(tg_tensors *t, void *dst, size_t bytes, tg_err *err);

/* An upper bound on the bytes of arrays in the file; UINT64_MAX when none is known, as of a
 * pipe.  A claim beyond it can be refused before memory is allocated. */
uint64_t tg_tensors_max_bytes(const tg_tensors *t);

/* Close the reader; what tg_array.data pointed to is gone.  A zeroed one is fine. */
void tg_tensors_close(tg_tensors *t);

#endif
