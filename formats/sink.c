#define _GNU_SOURCE /* F_SETPIPE_SZ, vmsplice */
#include "formats/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/base/size.h"

#define PIPE (1 << 20)         /* bytes: the default limit for users of Linux */
#define STEP ((size_t)1 << 30) /* bytes per write(): fewer than any system's limit */

/* Like write(), but hands the pages of p to a pipe, where the system supports that. */
static ssize_t splice_pages(int fd, const unsigned char *p, size_t n)
{
#ifdef SPLICE_F_GIFT
    const struct iovec pages = {.iov_base = (void *)p, .iov_len = n};
    const ssize_t put = vmsplice(fd, &pages, 1, 0);

    if (put > 0 || (put < 0 && (errno == EINTR || errno == EPIPE)))
        return put;
#endif
    return write(fd, p, n);
}

static tg_status write_pieces(int fd, const unsigned char *p, size_t n, bool zero_copy, tg_err *err)
{
    size_t done = 0;

    while (done < n) {
        const size_t step = tg_size_min(n - done, STEP);
        ssize_t put = zero_copy ? splice_pages(fd, p + done, step) : write(fd, p + done, step);

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

tg_status tg_write_all(int fd, const void *data, size_t n, tg_err *err)
{
    return write_pieces(fd, data, n, false, err);
}

tg_status tg_write_zero_copy(int fd, const void *data, size_t n, tg_err *err)
{
    return write_pieces(fd, data, n, true, err);
}

static void empty(tg_sink *sink)
{
    if (!sink->err.code && sink->n > 0)
        sink->err.code = tg_write_all(sink->fd, sink->waiting, sink->n, &sink->err);
    sink->n = 0;
}

void tg_sink_put(tg_sink *sink, const void *data, size_t n)
{
    const unsigned char *p = data;

    while (n > 0) {
        const size_t part = tg_size_min(n, sizeof sink->waiting - sink->n);

        memcpy(sink->waiting + sink->n, p, part);
        sink->n += part;
        p += part;
        n -= part;
        if (sink->n == sizeof sink->waiting)
            empty(sink);
    }
}

void tg_sink_puts(tg_sink *sink, const char *text)
{
    tg_sink_put(sink, text, strlen(text));
}

tg_status tg_sink_flush(tg_sink *sink, tg_err *err)
{
    empty(sink);
    if (sink->err.code && err)
        *err = sink->err;
    return sink->err.code;
}

void tg_pipe_grow(int fd)
{
#ifdef F_SETPIPE_SZ
    (void)fcntl(fd, F_SETPIPE_SZ, PIPE);
#else
    (void)fd;
#endif
}
