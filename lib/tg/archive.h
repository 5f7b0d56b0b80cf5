/*
 * archive: arrays in files and pipes: tg's binary format, a strict profile of .npz.
 *
 * An archive is a sequence of named arrays.  It is written and read front to back; a stream may hold several
 * archives in a row.  formats/README.md specifies the bytes.
 *
 * Reading
 *
 *     tg_archive_open(&r, fd, &err)
 *     while (tg_archive_next(r, &a, &event, &err) == TG_OK && event != TG_ARCHIVE_EOF)
 *         if (event == TG_ARCHIVE_ARRAY)
 *             tg_archive_read(r, dst, a.bytes, &err)
 *     tg_archive_close(r)
 *
 * The values in a header (sizes, names, shapes) are checked before they are reported, and no allocation is
 * proportional to one.  An array's CRC-32 is verified when its last byte is read, or else by the next
 * tg_archive_next().  The stream may turn out to be truncated at any point before TG_ARCHIVE_END: do not act
 * on its content until then.
 */
#ifndef TG_TG_ARCHIVE_H
#define TG_TG_ARCHIVE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/array.h"
#include "lib/tg/status.h"

TG_API_BEGIN

typedef struct tg_archive_reader tg_archive_reader;

typedef enum tg_archive_event {
    TG_ARCHIVE_ARRAY, /* *array describes the next array */
    TG_ARCHIVE_END,   /* the archive is complete and verified; another may follow */
    TG_ARCHIVE_EOF    /* the input ended, after at least one archive */
} tg_archive_event;

/*
 * Open a reader on fd, which the caller keeps open and closes.  A regular file is
 * mapped, from its current position on.
 * TG_EDATA: empty input, or input that does not begin like an archive (the message says
 * what it is instead: a GGUF model, plain text, ...).  TG_EIO, TG_ENOMEM.
 * *reader is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_archive_open(tg_archive_reader **reader, int fd, tg_err *err);

/*
 * Advance to the next event.  Unread data of the previous array is skipped and its
 * checksum verified.  TG_EDATA: damaged, truncated, a member that is not .npy, Fortran
 * order, an unknown element type, a duplicate name ...; TG_EIO, TG_ENOMEM.
 * After a failure only tg_archive_close() is legal.
 */
TG_MUST_CHECK tg_status tg_archive_next(tg_archive_reader *reader, tg_array *array, tg_archive_event *event,
                                        tg_err *err);

/* Copy the next `bytes` bytes of the current array into dst.  TG_EUSAGE: fewer are left.
 * TG_EDATA, TG_EIO as above. */
TG_MUST_CHECK tg_status tg_archive_read(tg_archive_reader *reader, void *dst, size_t bytes, tg_err *err);

/* An upper bound on the bytes of all arrays in the input; UINT64_MAX when unknown, as for a pipe.  Lets a
 * caller refuse a larger size before it allocates memory. */
uint64_t tg_archive_max_bytes(const tg_archive_reader *reader);

/* Free the reader and unmap.  NULL is fine. */
void tg_archive_close(tg_archive_reader *reader);

/*
 * Read the current array as a scalar: an integer in the result's range, an 'f8' or 'f4', or
 * an 'S' shorter than `size` bytes without a NUL inside (a NUL is appended).  Any other
 * array: TG_EDATA, with its name, type and shape.
 */
TG_MUST_CHECK tg_status tg_archive_get_size(tg_archive_reader *, const tg_array *, size_t *, tg_err *);
TG_MUST_CHECK tg_status tg_archive_get_f64(tg_archive_reader *, const tg_array *, double *, tg_err *);
TG_MUST_CHECK tg_status tg_archive_get_text(tg_archive_reader *, const tg_array *, char *, size_t size,
                                            tg_err *);

/*
 * Writing
 *
 *     tg_archive_create(&w, fd, &err)
 *     tg_archive_put(w, "kind", ...) ...
 *     tg_archive_finish(w, &err)
 *     tg_archive_abandon(w)
 *
 * Equal calls give equal bytes.  TG_EUSAGE: a name that is not allowed or already used,
 * more than TG_NAMES_MAX names, or a type or shape that an archive cannot store.
 */
typedef struct tg_archive_writer tg_archive_writer;

TG_MUST_CHECK tg_status tg_archive_create(tg_archive_writer **writer, int fd, tg_err *err);

/* Append one array: C order, little-endian, contiguous at `data`. */
TG_MUST_CHECK tg_status tg_archive_put(tg_archive_writer *writer, const char *name, tg_dtype dtype,
                                       size_t ndim, const size_t *shape, const void *data, tg_err *err);

/* Scalars: '<i8', '<f8', '|S<strlen>' (an empty text is written as one NUL). */
TG_MUST_CHECK tg_status tg_archive_put_i64(tg_archive_writer *, const char *name, int64_t value, tg_err *);
TG_MUST_CHECK tg_status tg_archive_put_f64(tg_archive_writer *, const char *name, double value, tg_err *);
TG_MUST_CHECK tg_status tg_archive_put_text(tg_archive_writer *, const char *name, const char *text,
                                            tg_err *);

/* Write the central directory, without which readers consider the archive truncated. */
TG_MUST_CHECK tg_status tg_archive_finish(tg_archive_writer *writer, tg_err *err);

/* Free the writer, finished or not.  fd stays open.  NULL is fine. */
void tg_archive_abandon(tg_archive_writer *writer);

TG_API_END

#endif
