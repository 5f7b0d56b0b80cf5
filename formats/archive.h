/*
 * archive: what the library needs of archives, besides what programs use (lib/tg/archive.h): sources that
 * have been peeked at, lists of names, kinds and versions.
 */
#ifndef TG_FORMATS_ARCHIVE_H
#define TG_FORMATS_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/source.h"
#include "lib/base/bf16.h"
#include "lib/base/status.h"
#include "lib/tg/archive.h"

/*
 * The same on a source (formats/source.h) that the caller has opened and may have peeked
 * at.  The reader takes ownership of it; a failure closes it.
 */
TG_MUST_CHECK tg_status tg_archive_open_source(tg_archive_reader **reader, tg_source *source, tg_err *err);

/* Whether what begins with first [n] is an archive of this project whose scalar "kind" is `kind`; false if it
 * is compressed.  TG_FORMAT_BYTES (formats/format.h) suffice. */
bool tg_archive_begins(const void *first, size_t n, const char *kind);

/* Whether the next bytes of the source begin an archive; consumes nothing.  TG_EIO. */
TG_MUST_CHECK tg_status tg_archive_sniff(tg_source *source, bool *archive, tg_err *err);

/* Take what has been read so far out of memory, if the input is mapped; the system reads it again if it is
 * used again. */
void tg_archive_forget(tg_archive_reader *reader);

/* Read a text that must be in a list (lib/base/choice.h), as its number in the list.
 * TG_EDATA, with the list, when it is not there. */
TG_MUST_CHECK tg_status tg_archive_get_choice(tg_archive_reader *, const tg_array *, const char *list,
                                              size_t *, tg_err *);

/*
 * Check the first two arrays of tg's archives: `a` must be "kind" with the text `kind`, or
 * "version" with the number `version`.  Otherwise TG_EDATA, with what was found.
 */
TG_MUST_CHECK tg_status tg_archive_expect_kind(tg_archive_reader *, const tg_array *a, const char *kind,
                                               tg_err *);

/* Read the first array, which must be "kind" with a text of the list, and set *number to its place there. */
TG_MUST_CHECK tg_status tg_archive_read_kind(tg_archive_reader *, const char *kinds, size_t *number,
                                             tg_err *err);
TG_MUST_CHECK tg_status tg_archive_expect_version(tg_archive_reader *, const tg_array *a, size_t version,
                                                  tg_err *);

/* Read both: the first two arrays. */
TG_MUST_CHECK tg_status tg_archive_read_start(tg_archive_reader *, const char *kind, size_t version,
                                              tg_err *);

/* The next array of an archive that is all of the input; *more = false: there is none.  Fails like
 * tg_archive_next(); TG_EDATA also: another archive follows. */
TG_MUST_CHECK tg_status tg_archive_next_of_one(tg_archive_reader *, tg_array *a, bool *more, tg_err *);

/* The same of bf16 in memory, which are float32 in the archive. */
TG_MUST_CHECK tg_status tg_archive_put_widened(tg_archive_writer *writer, const char *name, size_t ndim,
                                               const size_t *shape, const tg_bf16 *data, tg_err *err);

/* Entry `number` of a list (lib/base/choice.h), as a text. */
TG_MUST_CHECK tg_status tg_archive_put_choice(tg_archive_writer *, const char *name, const char *list,
                                              size_t number, tg_err *);

/* Both, after `status`, how writing the arrays has ended: finish only if that is TG_OK.  Returns the first
 * failure. */
TG_MUST_CHECK tg_status tg_archive_end(tg_archive_writer *writer, tg_status status, tg_err *err);

#endif
