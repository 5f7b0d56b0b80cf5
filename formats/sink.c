#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "formats/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "lib/base/decimal.h"
#include "lib/base/size.h"

#define PIPE (1 << 20)         /* bytes: the default limit for users of Linux */
#define STEP ((size_t)1 << 30) /* bytes per write(): fewer than any system's limit */

tg_status tg_write_all(int fd, const void *data, size_t n, tg_err *err)
{
    const unsigned char *p = data;
    size_t done = 0;

    while (done < n) {
        const ssize_t put = write(fd, p + done, tg_size_min(n - done, STEP));

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

static void write_out(tg_sink *sink, const void *data, size_t n)
{
    if (!sink->err.code && !sink->dry)
        sink->err.code = tg_write_all(sink->fd, data, n, &sink->err);
    if (!sink->err.code)
        sink->done += n;
}

static void empty(tg_sink *sink)
{
    write_out(sink, sink->waiting, sink->n);
    sink->n = 0;
}

void tg_sink_put(tg_sink *sink, const void *data, size_t n)
{
    if (n > sizeof sink->waiting - sink->n)
        empty(sink);
    if (n > sizeof sink->waiting) {
        write_out(sink, data, n);
    } else if (n > 0) {
        memcpy(sink->waiting + sink->n, data, n);
        sink->n += n;
    }
}

void tg_sink_puts(tg_sink *sink, const char *text)
{
    tg_sink_put(sink, text, strlen(text));
}

void tg_sink_put_size(tg_sink *sink, size_t value)
{
    char digits[TG_DECIMAL_SIZE] = "";

    tg_sink_put(sink, digits, (size_t)(tg_decimal_size(digits, value) - digits));
}

void tg_sink_print(tg_sink *sink, const char *format, ...)
{
    char text[1024];
    va_list ap;

    va_start(ap, format);
    if (vsnprintf(text, sizeof text, format, ap) > 0)
        tg_sink_puts(sink, text);
    va_end(ap);
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
