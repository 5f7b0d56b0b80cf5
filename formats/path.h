/*
 * path: what a path names, and the paths of files in the same directory.
 */
#ifndef TG_FORMATS_PATH_H
#define TG_FORMATS_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "lib/base/status.h"

/* Open a file for reading, as open() does, again when a signal has come.  -1: errno says why. */
int tg_path_open(const char *path);

/*
 * Have tg_path_open() open the file that fd is open on where it may not open the path itself: a sandbox
 * allows the file that was there, and another may have taken its place since.  At most TG_PATH_KEPT paths:
 * false for further ones; path and fd must stay.  Not while other threads open files.
 */
#define TG_PATH_KEPT 32
bool tg_path_keep(const char *path, int fd);

/*
 * Examine the file at a path, links followed.  *exists: whether there is one; if not, *st is zeroed.  TG_EIO:
 * that cannot be told, as without permission or after an error of the disk; the message names the path.
 */
TG_MUST_CHECK tg_status tg_path_examine(const char *path, struct stat *st, bool *exists, tg_err *err);

/*
 * Examine a file that was not named but found, in the directory of another or in one that was named:
 * TG_EDATA, with the path, if it is a pipe or a device, which would be waited for.
 */
TG_MUST_CHECK tg_status tg_path_examine_found(const char *path, bool *exists, tg_err *err);

/* Whether two statuses are of one file, perhaps under two names. */
bool tg_path_same_file(const struct stat *a, const struct stat *b);

/* Whether a file is at `now` that was not there (a status of zeros), or was not the same, at `before`.  One
 * that has been removed is not replaced. */
bool tg_path_is_replaced(const struct stat *before, const struct stat *now);

/* Read the first n bytes of a file, or as many as it has: *got.  TG_EIO, with the path. */
TG_MUST_CHECK tg_status tg_path_peek(const char *path, unsigned char *first, size_t n, size_t *got,
                                     tg_err *err);

/* The first of `names`, ended by NULL, that is in a directory; NULL: none is.  TG_EIO: that cannot be told.
 */
TG_MUST_CHECK tg_status tg_path_find(const char **name, const char *directory, const char *const *names,
                                     tg_err *err);

/* The last component of a path, a part of it; "" after a slash at its end. */
const char *tg_path_name(const char *path);

/* "DIR/name", to be freed, for a directory, or for the one of `path`; NULL: out of memory. */
char *tg_path_in(const char *directory, const char *name);
char *tg_path_sibling(const char *path, const char *name);

#endif
