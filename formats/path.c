#include "formats/path.h"

#include <errno.h>
#include <unistd.h>

#include "formats/source.h"

tg_status tg_path_examine(const char *path, struct stat *st, bool *exists, tg_err *err)
{
    int r;

    do
        r = stat(path, st);
    while (r != 0 && errno == EINTR);
    *exists = r == 0;
    if (*exists)
        return TG_OK;
    *st = (struct stat){0};
    return errno == ENOENT || errno == ENOTDIR ? TG_OK : tg_fail_sys(err, "%s", path);
}

tg_status tg_path_peek(const char *path, unsigned char *first, size_t n, size_t *got, tg_err *err)
{
    const int fd = tg_open_path(path);
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
