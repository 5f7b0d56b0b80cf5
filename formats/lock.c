#define _DEFAULT_SOURCE /* flock */
#include "formats/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/path.h"
#include "formats/save.h"

#define NAME_SHOWN 200 /* bytes of the file's name in the lock file's, which must not be too long */

/* DIRECTORY/.tg-NAME.lock for a file; the caller frees it.  After a failure it is NULL. */
static tg_status lock_path(char **path, const char *file, tg_err *err)
{
    char name[sizeof ".tg-.lock" + NAME_SHOWN], *target;
    const tg_status status = tg_save_target(&target, file, err);

    *path = NULL;
    if (status)
        return status;
    snprintf(name, sizeof name, ".tg-%.*s.lock", NAME_SHOWN, tg_path_name(target));
    *path = tg_path_sibling(target, name);
    free(target);
    return *path ? TG_OK : tg_fail_memory(err, strlen(file), "a file name");
}

/* Whether the lock file is still the one at its path, 1 or 0: its holder may have removed it since.
 * -1: that cannot be told, and errno says why. */
static int is_current(const tg_lock *lock)
{
    struct stat held, named;

    if (fstat(lock->fd, &held) != 0)
        return -1;
    if (stat(lock->path, &named) != 0)
        return errno == ENOENT ? 0 : -1;
    return tg_path_same_file(&held, &named);
}

static long read_holder(int fd)
{
    char text[32];
    const ssize_t n = pread(fd, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return strtol(text, NULL, 10);
}

/* Write the number of this process into the lock file.  The lock does not depend on it, so errors do not
 * matter. */
static void write_holder(int fd)
{
    char text[32];
    const int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());

    if (ftruncate(fd, 0) == 0)
        (void)!pwrite(fd, text, (size_t)n, 0);
}

/* A lock file that this process has made goes with it. */
static tg_status lock_fails(tg_lock *lock, bool made, const char *what, tg_err *err)
{
    const int sys = errno;

    if (sys == EWOULDBLOCK)
        lock->holder = read_holder(lock->fd);
    else if (made)
        unlink(lock->path);
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
    errno = sys;
    return tg_fail_sys(err, "cannot %s %s", what, lock->path);
}

/* An existing lock file may belong to another user and not be writable.  On a local file system it can be
 * locked all the same; on NFS flock() then fails. */
static int open_existing(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);

    return fd < 0 && errno == EACCES ? open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW) : fd;
}

/* Open the lock file, lock->fd; whether that has made it. */
static bool open_lock(tg_lock *lock)
{
    bool removed;

    do {
        lock->fd = open(lock->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (lock->fd >= 0)
            return true;
        if ((removed = errno == EEXIST)) {
            lock->fd = open_existing(lock->path);
            removed = lock->fd < 0 && errno == ENOENT;
        }
    } while (lock->fd < 0 && (removed || errno == EINTR));
    return false;
}

/* Lock the file at lock->path, of which there may be another before the lock is held. */
static tg_status take_lock(tg_lock *lock, tg_err *err)
{
    int current = 0;

    while (!current) {
        const bool made = open_lock(lock);

        if (lock->fd < 0)
            return lock_fails(lock, made, "open", err);
        while (flock(lock->fd, LOCK_EX | LOCK_NB) != 0)
            if (errno != EINTR)
                return lock_fails(lock, made, "lock", err);
        if ((current = is_current(lock)) < 0)
            return lock_fails(lock, made, "examine", err);
        /* one that we may not write, usually another user's, makes place for our own if it can be removed */
        if (current && (fcntl(lock->fd, F_GETFL) & O_ACCMODE) == O_RDONLY && unlink(lock->path) == 0)
            current = 0;
        if (!current)
            close(lock->fd);
    }
    write_holder(lock->fd);
    return TG_OK;
}

tg_status tg_lock_take(tg_lock *lock, const char *path, tg_err *err)
{
    tg_status status;

    *lock = (tg_lock){.fd = -1};
    if (!(status = lock_path(&lock->path, path, err)) && (status = take_lock(lock, err))) {
        free(lock->path);
        lock->path = NULL;
    }
    return status;
}

/* A shared lock, for this moment: it cannot be had where another process has the other kind. */
static bool is_held(const char *path, long *holder)
{
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    bool held;

    *holder = 0;
    if (fd < 0)
        return false;
    held = flock(fd, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    if (held)
        *holder = read_holder(fd);
    close(fd);
    return held;
}

tg_status tg_lock_examine(const char *path, bool *held, long *holder, tg_err *err)
{
    char *lock;
    const tg_status status = lock_path(&lock, path, err);

    *held = !status && is_held(lock, holder);
    free(lock);
    return status;
}

void tg_lock_release(tg_lock *lock)
{
    if (lock->fd >= 0) {
        unlink(lock->path); /* first: nobody else can have the lock yet */
        close(lock->fd);
    }
    free(lock->path);
    *lock = (tg_lock){.fd = -1};
}
