/*
 * lock: one writer at a time for a file that is replaced whole (formats/save.h).
 *
 * Each save gives the file another inode, so the lock is held on another file, .tg-NAME.lock, with
 * flock(); the holder writes its process id into it.  The system ends the lock with the process, however that
 * ends: a lock file that remains hinders nobody, and the next holder removes it.  If it is another
 * user's, in a directory where it cannot be removed, it stays, and may name an earlier process.
 */
#ifndef TG_FORMATS_LOCK_H
#define TG_FORMATS_LOCK_H

#include <stdbool.h>

#include "lib/base/status.h"

typedef struct tg_lock {
    int fd;      /* -1: not held */
    char *path;  /* of the lock file */
    long holder; /* after EWOULDBLOCK: the process that has the lock, 0 if that is not known */
} tg_lock;

/*
 * Take the lock of the file that tg_save_begin() would replace for `path`, or return at once.  TG_EIO: if
 * another process has it, err->sys is EWOULDBLOCK; otherwise the lock file cannot be made, or the file
 * system has no locks.  TG_ENOMEM.  After a failure nothing is held.
 */
TG_MUST_CHECK tg_status tg_lock_take(tg_lock *lock, const char *path, tg_err *err);

/*
 * Whether another process has that lock, *held, and which, *holder: 0 if it is not known.  Makes no lock file
 * and changes nothing; where locks cannot be examined, none is held.  TG_EIO, TG_ENOMEM: there is no such
 * target.
 */
TG_MUST_CHECK tg_status tg_lock_examine(const char *path, bool *held, long *holder, tg_err *err);

/* Remove the lock file and give up the lock.  Harmless when none is held ({.fd = -1}). */
void tg_lock_release(tg_lock *lock);

#endif
