/*
 * path: what a path names.
 */
#ifndef TG_FORMATS_PATH_H
#define TG_FORMATS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/base/status.h"

/*
 * Examine the file at a path, links followed.  *exists: whether there is one; if not, *st is zeroed.  TG_EIO:
 * that cannot be told, as without permission or after an error of the disk; the message names the path.
 */
TG_MUST_CHECK tg_status tg_path_examine(const char *path, struct stat *st, bool *exists, tg_err *err);

/* Read the first n bytes of a file, or as many as it has: *got.  TG_EIO, with the path. */
TG_MUST_CHECK tg_status tg_path_peek(const char *path, unsigned char *first, size_t n, size_t *got,
                                     tg_err *err);

#endif
