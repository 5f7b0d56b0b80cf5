/*
 * save: replace a file completely or not at all.
 *
 *     tg_save_begin(&save, path, &err)     a temporary file in the target's directory
 *     ... write to save.fd ...
 *     tg_save_commit(&save, &err)          fsync, rename, fsync the directory
 *     tg_save_abort(&save)                 on any failure before the commit
 *
 * A successful commit replaces the file durably.  Until then, and after a failure,
 * the old file is unchanged.  One exception: if only the last step fails (fsync of the
 * directory), the new file is complete and in place, but a system crash soon afterwards
 * may restore the old one.
 */
#ifndef TG_FORMATS_SAVE_H
#define TG_FORMATS_SAVE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/status.h"

typedef struct tg_save {
    int fd;       /* write here; -1: no save in progress */
    char *target; /* the file's real path, symbolic links resolved */
    char *temp;   /* the temporary file; NULL: the target is a device or pipe, written directly */
    /* A suffix: if the target cannot be replaced, the content is kept as TARGET + fallback.  NULL: it is not
     * kept. */
    const char *fallback;
    bool *fallback_used; /* becomes true if it is kept so; may be NULL */
} tg_save;

/*
 * Open the file that will become `path`, and remove what killed processes of this user have left in its
 * directory.  An existing regular file keeps its permissions and its access list, except that the rights of a
 * group which cannot be kept go to nobody else, and that the group and others get none if the list (on Linux,
 * a POSIX one) cannot be kept; a symbolic link stays a link; a device or named pipe is written directly.
 * TG_EIO, TG_ENOMEM: no save is then in progress.
 */
TG_MUST_CHECK tg_status tg_save_begin(tg_save *save, const char *path, tg_err *err);

/* Replace the file.  TG_EIO, TG_ENOMEM: the temporary file is gone, or has become TARGET + fallback, as the
 * message says; and the old file is intact, except in the case above ("saved, but ..."). */
TG_MUST_CHECK tg_status tg_save_commit(tg_save *save, tg_err *err);

/*
 * Save in the target's directory instead, as TARGET + suffix, or with "+" after it where such a file exists.
 * save->target is the new name.  TG_ENOMEM: as before the call.  Not for a device or pipe.
 */
TG_MUST_CHECK tg_status tg_save_beside(tg_save *save, const char *suffix, tg_err *err);

/* *bytes: how much the file system of a save in progress has room for, as far as this user may use it. False:
 * that cannot be told. */
bool tg_save_room(const tg_save *save, uint64_t *bytes);

/* The real path of the file that tg_save_begin() would replace or create, which the caller frees.
 * TG_EIO, TG_ENOMEM: *target is NULL. */
TG_MUST_CHECK tg_status tg_save_target(char **target, const char *path, tg_err *err);

/* Discard the new content.  Harmless when no save is in progress ({.fd = -1}). */
void tg_save_abort(tg_save *save);

#endif
