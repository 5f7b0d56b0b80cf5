#include "formats/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- opening */

static struct {
    const char *path;
    int fd;
} kept[TG_PATH_KEPT];
static size_t n_kept;

bool tg_path_keep(const char *path, int fd)
{
    if (n_kept == TG_PATH_KEPT)
        return false;
    kept[n_kept].path = path;
    kept[n_kept++].fd = fd;
    return true;
}

static int open_again(const char *path)
{
    int fd;

    do
        fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Open what was at a path; -1 with EACCES if that is not known, or denied too. */
static int open_kept(const char *path)
{
    char link[sizeof "/proc/self/fd/" + 3 * sizeof(int)];
    int fd = -1;

    for (size_t i = 0; i < n_kept && fd < 0; i++)
        if (strcmp(kept[i].path, path) == 0) {
            snprintf(link, sizeof link, "/proc/self/fd/%d", kept[i].fd);
            fd = open_again(link);
        }
    if (fd < 0)
        errno = EACCES;
    return fd;
}

int tg_path_open(const char *path)
{
    const int fd = open_again(path);

    return fd < 0 && errno == EACCES ? open_kept(path) : fd;
}

/* ---- what is there */

tg_status tg_path_examine(const char *path, struct stat *st, bool *exists, tg_err *err)
{
    int r;

    do
        r = stat(path, st);
    /* unreached: Linux does not interrupt stat() */
    while (r != 0 && errno == EINTR);
    *exists = r == 0;
    if (*exists)
        return TG_OK;
    *st = (struct stat){0};
    return errno == ENOENT || errno == ENOTDIR ? TG_OK : tg_fail_sys(err, "%s", path);
}

tg_status tg_path_examine_found(const char *path, bool *exists, tg_err *err)
{
    struct stat st;
    const tg_status status = tg_path_examine(path, &st, exists, err);

    if (status || !*exists || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
        return status;
    (void)tg_fail(err, TG_EDATA, "not a regular file");
    return tg_err_in(err, path);
}

bool tg_path_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool tg_path_is_replaced(const struct stat *before, const struct stat *now)
{
    if (now->st_mode == 0)
        return false;
    return before->st_mode == 0 || !tg_path_same_file(before, now) || before->st_size != now->st_size ||
           before->st_mtim.tv_sec != now->st_mtim.tv_sec || before->st_mtim.tv_nsec != now->st_mtim.tv_nsec;
}

tg_status tg_path_peek(const char *path, unsigned char *first, size_t n, size_t *got, tg_err *err)
{
    const int fd = tg_path_open(path);
    ssize_t r = 1;

    if (fd < 0)
        return tg_fail_sys(err, "%s", path);
    for (*got = 0; *got < n && r != 0; *got += (size_t)(r > 0 ? r : 0)) {
        r = read(fd, first + *got, n - *got);
        if (r < 0 && errno != EINTR)
            break;
    }
    if (r < 0)
        (void)tg_fail_sys(err, "%s", path);
    close(fd);
    return r < 0 ? TG_EIO : TG_OK;
}

tg_status tg_path_find(const char **name, const char *directory, const char *const *names, tg_err *err)
{
    tg_status status = TG_OK;
    bool exists = false;

    for (*name = NULL; *names && !status && !exists; names++) {
        char *path = tg_path_in(directory, *names);
        struct stat st;

        if (!path)
            return tg_fail_memory(err, strlen(directory), "a path");
        status = tg_path_examine(path, &st, &exists, err);
        free(path);
        if (exists)
            *name = *names;
    }
    return status;
}

/* ---- paths of other files */

const char *tg_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static char *join(const char *directory, size_t n, const char *name)
{
    char *joined = malloc(n + strlen(name) + 2);

    if (joined)
        sprintf(joined, "%.*s%s%s", (int)n, directory, n > 0 && directory[n - 1] != '/' ? "/" : "", name);
    return joined;
}

char *tg_path_in(const char *directory, const char *name)
{
    return join(directory, strlen(directory), name);
}

char *tg_path_sibling(const char *path, const char *name)
{
    return join(path, (size_t)(tg_path_name(path) - path), name);
}
