#define _XOPEN_SOURCE 700 /* realpath */
#include "formats/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 40
#define TRIES_MAX 1000

/* Bytes of path's directory part, slash included; 0 when it has none. */
static size_t directory_length(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* `name` in the directory of `path`, or `name` itself when it is absolute; the caller frees it. */
static char *sibling(const char *path, const char *name)
{
    size_t n = name[0] == '/' ? 0 : directory_length(path), m = strlen(name);
    char *joined = malloc(n + m + 1);

    if (!joined)
        return NULL;
    memcpy(joined, path, n);
    memcpy(joined + n, name, m + 1);
    return joined;
}

/* The target of a symbolic link, which the caller frees; NULL with errno = EINVAL when path is not one. */
static char *link_target(const char *path)
{
    char name[4096];
    ssize_t n = readlink(path, name, sizeof name - 1);

    if (n < 0)
        return NULL;
    name[n] = '\0';
    return sibling(path, name);
}

/* The file that open() would create for a missing path: the path itself, or the end of a
 * chain of links.  The caller frees it. */
static char *missing_target(const char *path)
{
    char *target = sibling(path, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);

    for (int i = 0; target && i < LINKS_MAX; i++) {
        char *next = link_target(target);

        if (!next && errno != ENOMEM)
            return target;
        free(target);
        target = next;
    }
    if (target)
        errno = ELOOP;
    free(target);
    return NULL;
}

static tg_status no_target(tg_err *err)
{
    return errno == ENOMEM ? tg_fail_memory(err, 4096, "a file name") : tg_fail_sys(err, "cannot be written");
}

tg_status tg_save_target(char **target, const char *path, tg_err *err)
{
    struct stat st;

    *target = stat(path, &st) == 0 ? realpath(path, NULL) : missing_target(path);
    return *target ? TG_OK : no_target(err);
}

tg_status tg_save_beside(tg_save *save, const char *suffix, tg_err *err)
{
    size_t used = strlen(save->target) + strlen(suffix);
    char *path = malloc(used + TRIES_MAX + 1);

    if (!path)
        return tg_fail_memory(err, used, "a file name");
    snprintf(path, used + 1, "%s%s", save->target, suffix);
    for (int try = 0; try < TRIES_MAX && access(path, F_OK) == 0; try++) {
        path[used++] = '+';
        path[used] = '\0';
    }
    free(save->target);
    save->target = path;
    return TG_OK;
}

/* Create a temporary file in the target's directory. */
static tg_status open_temp(tg_save *save, mode_t mode, tg_err *err)
{
    char name[64];

    for (unsigned try = 0; try < TRIES_MAX; try++) {
        snprintf(name, sizeof name, ".tg-%ld-%u.tmp", (long)getpid(), try);
        save->temp = sibling(save->target, name);
        if (!save->temp)
            return tg_fail_memory(err, sizeof name, "a file name");
        save->fd = open(save->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (save->fd >= 0)
            return TG_OK;
        free(save->temp);
        save->temp = NULL;
        if (errno != EEXIST && errno != EINTR)
            break;
    }
    return tg_fail_sys(err, "cannot create a file in its directory");
}

/* For a device or pipe: no temporary file. */
static tg_status begin_direct(tg_save *save, const char *path, tg_err *err)
{
    do
        save->fd = open(path, O_WRONLY | O_NOCTTY | O_CLOEXEC);
    while (save->fd < 0 && errno == EINTR);
    return save->fd < 0 ? tg_fail_sys(err, "cannot be written") : TG_OK;
}

/* For a regular file: a new one, or an existing one, whose owner and permissions are kept. */
static tg_status begin_file(tg_save *save, const char *path, const struct stat *old, tg_err *err)
{
    tg_status status;

    if ((status = tg_save_target(&save->target, path, err)))
        return status;
    if (old && faccessat(AT_FDCWD, save->target, W_OK, AT_EACCESS) != 0)
        return tg_fail_sys(err, "cannot be written");
    status = open_temp(save, old ? 0600 : 0666, err);
    if (status || !old)
        return status;
    /* Only root can keep the owner; the group can often be kept. */
    (void)!fchown(save->fd, (uid_t)-1, old->st_gid);
    (void)!fchown(save->fd, old->st_uid, (gid_t)-1);
    if (fchmod(save->fd, old->st_mode & 0777) != 0)
        return tg_fail_sys(err, "cannot keep its permissions");
    return TG_OK;
}

tg_status tg_save_begin(tg_save *save, const char *path, tg_err *err)
{
    struct stat st;
    bool exists = stat(path, &st) == 0;
    tg_status status;

    *save = (tg_save){.fd = -1};
    if (!exists && (errno != ENOENT || path[0] == '\0' || path[strlen(path) - 1] == '/'))
        return tg_fail_sys(err, "cannot be written");
    if (exists && !S_ISREG(st.st_mode))
        status = begin_direct(save, path, err);
    else
        status = begin_file(save, path, exists ? &st : NULL, err);
    if (status)
        tg_save_abort(save);
    return status;
}

void tg_save_abort(tg_save *save)
{
    if (save->fd >= 0)
        close(save->fd);
    if (save->temp)
        unlink(save->temp);
    free(save->temp);
    free(save->target);
    *save = (tg_save){.fd = -1};
}

static int sync_fd(int fd)
{
    int r;

    do
        r = fsync(fd);
    while (r != 0 && errno == EINTR);
    /* Pipes, devices and some file systems have nothing to sync. */
    return r != 0 && (errno == EINVAL || errno == ENOTSUP || errno == EROFS) ? 0 : r;
}

/* Make the rename durable.  A directory that cannot be opened for reading is not synced. */
static tg_status sync_directory(const char *target, tg_err *err)
{
    char *path = sibling(target, ".");
    int fd, r = 0;

    if (!path)
        return tg_fail_memory(err, strlen(target) + 2, "a file name");
    fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(path);
    if (fd >= 0) {
        r = sync_fd(fd);
        close(fd);
    }
    return r != 0 ? tg_fail_sys(err, "saved, but cannot sync its directory") : TG_OK;
}

tg_status tg_save_commit(tg_save *save, tg_err *err)
{
    int fd = save->fd;
    tg_status status = TG_OK;

    if (sync_fd(fd) != 0)
        status = tg_fail_sys(err, "fsync failed");
    save->fd = -1;
    if (close(fd) != 0 && errno != EINTR && !status)
        status = tg_fail_sys(err, "close failed");
    if (!status && save->temp) {
        if (rename(save->temp, save->target) != 0) {
            status = tg_fail_sys(err, "cannot be replaced");
        } else {
            free(save->temp);
            save->temp = NULL;
            status = sync_directory(save->target, err);
        }
    }
    tg_save_abort(save);
    return status;
}
