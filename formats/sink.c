#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "formats/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "lib/base/size.h"

#define PIPE (1 << 20) /* bytes: the most that Linux gives a user by default */
#define STEP ((size_t)1 << 30) /* what a write() is sure to count */

tg_status tg_write_all(int fd, const void *data, size_t n, tg_err *err)
{
    const unsigned char *p = data;
    size_t done = 0;

    while (done < n) {
        ssize_t put = write(fd, p + done, tg_size_min(n - done, STEP));

        if (put < 0 && errno == EINTR)
            continue;
        if (put == 0)
            errno = ENOSPC;
        if (put <= 0)
            return tg_fail_sys(err, "write failed after %zu of %zu bytes", done, n);
        done += (size_t)put;
    }
    return TG_OK;
}

void tg_widen_pipe(int fd)
{
#ifdef F_SETPIPE_SZ
    (void)fcntl(fd, F_SETPIPE_SZ, PIPE);
#else
    (void)fd;
#endif
}
