/*
 * save: replace a file whole, or not at all.
 *
 *     tg_save_begin(&save, path, &err)     a temporary file beside the target
 *     ... write to save.fd ...
 *     tg_save_commit(&save, &err)          fsync, rename, fsync the directory
 *     tg_save_abort(&save)                 on any failure before
 *
 * Only after a successful commit is the new content there, and durably so; until
 * then, and after a failure, the old file is as it was.  There is one exception: when
 * the last step fails, which makes the new name durable, the new file is in place,
 * whole, and only a crash of the system soon after might bring the old one back.
 */
#ifndef TG_FORMATS_SAVE_H
#define TG_FORMATS_SAVE_H

#include "lib/base/status.h"

typedef struct tg_save {
    int fd;       /* write here; -1 when nothing is under way */
    char *target; /* the file's real path (symbolic links followed) */
    char *temp;   /* NULL: the target is a device or pipe, written directly */
} tg_save;

/*
 * Open for writing what will become `path`.  An existing regular file keeps its
 * permissions, a symbolic link stays one, a device or a named pipe is written to
 * directly.  TG_EIO, TG_ENOMEM: *save then has nothing under way.
 */
TG_MUST_CHECK tg_status tg_save_begin(tg_save *save, const char *path, tg_err *err);

/* Put it in place.  TG_EIO, TG_ENOMEM: the temporary file is gone, the old one intact,
 * but for the exception above ("in place, but ..."). */
TG_MUST_CHECK tg_status tg_save_commit(tg_save *save, tg_err *err);

/* Drop it.  Harmless when nothing is under way ({.fd = -1}). */
void tg_save_abort(tg_save *save);

#endif
