#define _DEFAULT_SOURCE 1 /* flock */
#define _XOPEN_SOURCE 700 /* realpath */
#include "formats/save.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#include "formats/crc.h"
#include "formats/path.h"

#define LINKS_MAX 40
#define TRIES_MAX 1000
#define LONG_LEFT (24 * 60 * 60) /* seconds */

/* The target of a symbolic link, which the caller frees; NULL with errno = EINVAL when path is not one. */
static char *link_target(const char *path)
{
    char name[4096];
    ssize_t n = readlink(path, name, sizeof name - 1);

    if (n < 0)
        return NULL;
    name[n] = '\0';
    return tg_path_sibling(name[0] == '/' ? "" : path, name);
}

/* The file that open() would create for a missing path: the path itself, or the end of a
 * chain of links.  The caller frees it.  NULL: errno says why. */
static char *missing_target(const char *path)
{
    char *target = strdup(path);

    for (int i = 0; target && i < LINKS_MAX; i++) {
        char *next;
        int sys;

        do
            next = link_target(target);
        while (!next && errno == EINTR);
        sys = errno;
        if (!next && (sys == EINVAL || sys == ENOENT || sys == ENOTDIR)) /* no link */
            return target;
        free(target);
        target = next;
        errno = sys;
    }
    if (!target)
        return NULL;
    free(target);
    errno = ELOOP;
    return NULL;
}

tg_status tg_save_target(char **target, const char *path, tg_err *err)
{
    struct stat st;

    *target = stat(path, &st) == 0 ? realpath(path, NULL) : missing_target(path);
    if (*target)
        return TG_OK;
    return errno == ENOMEM ? tg_fail_memory(err, 4096, "a file name") : tg_fail_sys(err, "cannot be written");
}

tg_status tg_save_beside(tg_save *save, const char *suffix, tg_err *err)
{
    size_t used = strlen(save->target) + strlen(suffix);
    char *path = malloc(used + TRIES_MAX + 1);

    if (!path)
        return tg_fail_memory(err, used, "a file name");
    snprintf(path, used + 1, "%s%s", save->target, suffix);
    /* unreached: TRIES_MAX: names are shorter */
    for (int try = 0; try < TRIES_MAX && access(path, F_OK) == 0; try++) {
        path[used++] = '+';
        path[used] = '\0';
    }
    free(save->target);
    save->target = path;
    return TG_OK;
}

bool tg_save_room(const tg_save *save, uint64_t *bytes)
{
    struct statvfs st;
    int r;

    do
        r = fstatvfs(save->fd, &st);
    while (r != 0 && errno == EINTR);
    if (r != 0 || st.f_blocks == 0) /* some file systems have no numbers */
        return false;
    *bytes = (uint64_t)(geteuid() == 0 ? st.f_bfree : st.f_bavail) * st.f_frsize;
    return true;
}

/* ---- temporary files: .tg-HOST-PID-N.tmp, each with a lock (flock) that ends with its process */

/* A number for this host.  Processes on other hosts may have the same ids, and their locks may not be visible
 * here. */
static unsigned long host_number(void)
{
    struct utsname u;

    /* unreached: uname() fails only for a bad address */
    return uname(&u) < 0 ? 0 : tg_crc32(0, u.nodename, strlen(u.nodename));
}

/* Whether it is a temporary file's name, and of which host. */
static bool is_temp(const char *name, unsigned long *host)
{
    char number[17];
    int end = 0;

    if (sscanf(name, ".tg-%16[0-9a-f]-%*[0-9]-%*[0-9].tmp%n", number, &end) != 1 || end == 0 ||
        name[end] != '\0')
        return false;
    *host = strtoul(number, NULL, 16);
    return true;
}

/* Remove a temporary file of this user whose process has ended, and its lock with it.  For a file of another
 * host that is not enough, so it must also be old.  It is opened for writing because a lock on NFS needs
 * that.  Before we hold the lock, the process may have renamed it and made a new one with the same name, so
 * compare the two. */
static void remove_left(int directory, const char *name, bool own_host)
{
    const int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct stat st, named;

    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        (own_host || time(NULL) - st.st_mtime > LONG_LEFT) && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
        fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && tg_path_same_file(&st, &named))
        unlinkat(directory, name, 0);
    close(fd);
}

/* Remove what killed processes have left in the target's directory.  Failure does no harm. */
static void remove_all_left(const char *target)
{
    char *path = tg_path_sibling(target, ".");
    DIR *directory = path ? opendir(path) : NULL;
    const unsigned long own = host_number();
    const struct dirent *e;
    unsigned long host;

    free(path);
    if (!directory)
        return;
    while ((e = readdir(directory)) != NULL)
        if (is_temp(e->d_name, &host))
            remove_left(dirfd(directory), e->d_name, host == own);
    closedir(directory);
}

/* Whether the new file is ours: another process may take it for a left one before it is locked.  Where there
 * are no locks, nobody removes it. */
static bool claim_temp(int fd)
{
    struct stat st;

    while (flock(fd, LOCK_EX | LOCK_NB) != 0)
        if (errno == EWOULDBLOCK)
            return false;
        else if (errno != EINTR)
            break;
    return fstat(fd, &st) != 0 || st.st_nlink > 0;
}

/* Open a new file with the name save->temp.  False: errno says why; EEXIST also if it has been removed again.
 */
static bool try_temp(tg_save *save, mode_t mode)
{
    save->fd = open(save->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (save->fd >= 0 && claim_temp(save->fd))
        return true;
    if (save->fd >= 0) {
        close(save->fd);
        errno = EEXIST;
    }
    save->fd = -1;
    return false;
}

/* Create a temporary file in the target's directory. */
static tg_status open_temp(tg_save *save, mode_t mode, tg_err *err)
{
    char name[64];

    remove_all_left(save->target);
    for (unsigned try = 0; try < TRIES_MAX; try++) {
        snprintf(name, sizeof name, ".tg-%lx-%ld-%u.tmp", host_number(), (long)getpid(), try);
        save->temp = tg_path_sibling(save->target, name);
        if (!save->temp)
            return tg_fail_memory(err, sizeof name, "a file name");
        if (try_temp(save, mode))
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

/* The rights of a file whose group could not be kept: the new group had the others' rights so far, and the
 * old group is now among the others. */
static mode_t rights_without_group(mode_t mode)
{
    const mode_t others = mode & 07, group = mode >> 3 & 07;

    return (mode & 0700) | others << 3 | (others & group);
}

static void change_owner(int fd, uid_t owner, gid_t group)
{
    while (fchown(fd, owner, group) != 0 && errno == EINTR)
        ;
}

#ifdef __linux__

#define ACCESS_LIST "system.posix_acl_access"

/* Copy the old file's access list (ACL) to the new file.  If that fails, or the file's group could not be
 * kept, remove any list that the new file got from its directory's default.  False: the old list was lost, or
 * may have been, or a default one cannot be removed. */
static bool keep_access_list(const tg_save *save, bool has_group)
{
    char list[8192];
    const ssize_t n = getxattr(save->target, ACCESS_LIST, list, sizeof list);
    const bool none = n < 0 && (errno == ENODATA || errno == ENOTSUP || errno == ENOSYS);

    if (n >= 0 && has_group && fsetxattr(save->fd, ACCESS_LIST, list, (size_t)n, 0) == 0)
        return true;
    if (fremovexattr(save->fd, ACCESS_LIST) != 0 && errno != ENODATA && errno != ENOTSUP && errno != ENOSYS)
        return false;
    return none;
}

#else

static bool keep_access_list(const tg_save *save, bool has_group)
{
    (void)save;
    (void)has_group;
    return true;
}

#endif

/* Only root can keep the owner; the group can often be kept.  With an access list, the mode's bits for the
 * group are the list's mask, and the list may deny a user what others may do: if it is lost, the group and
 * others get no rights. */
static tg_status keep_rights(const tg_save *save, const struct stat *old, tg_err *err)
{
    mode_t mode = old->st_mode & 0777;
    struct stat now;
    bool has_group;

    change_owner(save->fd, (uid_t)-1, old->st_gid);
    change_owner(save->fd, old->st_uid, (gid_t)-1);
    has_group = fstat(save->fd, &now) == 0 && now.st_gid == old->st_gid;
    if (!keep_access_list(save, has_group))
        mode &= 0700;
    else if (!has_group)
        mode = rights_without_group(mode);
    while (fchmod(save->fd, mode) != 0)
        if (errno != EINTR)
            return tg_fail_sys(err, "cannot keep its permissions");
    return TG_OK;
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
    return status || !old ? status : keep_rights(save, old, err);
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

/* Make the rename durable.  A directory that may not be read is not synced. */
static tg_status sync_directory(const char *target, tg_err *err)
{
    char *path = tg_path_sibling(target, ".");
    int fd, r, sys;

    if (!path)
        return tg_fail_memory(err, strlen(target) + 2, "a file name");
    fd = tg_path_open(path);
    r = fd >= 0 ? sync_fd(fd) : errno == EACCES ? 0 : -1;
    sys = errno;
    free(path);
    if (fd >= 0)
        close(fd);
    errno = sys;
    return r != 0 ? tg_fail_sys(err, "saved, but cannot sync its directory") : TG_OK;
}

/* With NFS, a rename whose reply got lost is tried again by the system, and fails then. */
static int replace(const char *from, const char *to)
{
    struct stat st, now;
    const bool known = stat(from, &st) == 0;
    int r, sys;

    do
        r = rename(from, to);
    while (r != 0 && errno == EINTR);
    sys = errno;
    if (r != 0 && known && stat(to, &now) == 0 && tg_path_same_file(&st, &now))
        r = 0;
    errno = sys;
    return r;
}

static tg_status rename_temp(tg_save *save, tg_err *err)
{
    if (replace(save->temp, save->target) != 0)
        return tg_fail_sys(err, "cannot be replaced");
    free(save->temp);
    save->temp = NULL;
    return sync_directory(save->target, err);
}

/* Replace the target.  If that fails, keep the new content as TARGET + fallback. */
static tg_status replace_target(tg_save *save, tg_err *err)
{
    tg_err why, ignored;
    const tg_status status = rename_temp(save, &why);

    if (status && save->temp && save->fallback && !tg_save_beside(save, save->fallback, &ignored)) {
        (void)rename_temp(save, &ignored);
        if (!save->temp && save->fallback_used)
            *save->fallback_used = true;
        if (!save->temp) { /* also if its directory could not be synced */
            const int sys = why.sys;

            (void)tg_fail(&why, TG_EIO, "cannot be replaced: %s; the new content is in %s", strerror(sys),
                          save->target);
            why.sys = sys;
        }
    }
    if (status && err)
        *err = why;
    return status;
}

tg_status tg_save_commit(tg_save *save, tg_err *err)
{
    const int fd = save->fd, lock = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* until the temporary file is renamed */
    tg_status status = TG_OK;

    if (sync_fd(fd) != 0)
        status = tg_fail_sys(err, "fsync failed");
    save->fd = -1;
    if (close(fd) != 0 && errno != EINTR && !status)
        status = tg_fail_sys(err, "close failed");
    if (!status && save->temp)
        status = replace_target(save, err);
    tg_save_abort(save);
    if (lock >= 0)
        close(lock);
    return status;
}
