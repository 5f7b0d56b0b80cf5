#include "lib/base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/utf8.h"

#define WHERE_MIN ((size_t)64) /* bytes of `where` that are kept, however long the message is */

__attribute__((format(printf, 4, 0))) static void fill(tg_err *err, tg_status code, int sys,
                                                       const char *format, va_list ap)
{
    err->code = code;
    err->sys = sys;
    if (vsnprintf(err->message, sizeof err->message, format, ap) < 0)
        err->message[0] = '\0';
}

tg_status tg_fail(tg_err *err, tg_status code, const char *format, ...)
{
    va_list ap;

    if (err) {
        va_start(ap, format);
        fill(err, code, 0, format, ap);
        va_end(ap);
    }
    return code;
}

tg_status tg_fail_sys(tg_err *err, const char *format, ...)
{
    int sys = errno;
    size_t used;
    va_list ap;

    if (err) {
        va_start(ap, format);
        fill(err, TG_EIO, sys, format, ap);
        va_end(ap);
        used = strlen(err->message);
        snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(sys));
    }
    return TG_EIO;
}

tg_status tg_fail_memory(tg_err *err, unsigned long long bytes, const char *what)
{
    return tg_fail(err, TG_ENOMEM, "out of memory: %llu bytes for %s", bytes, what);
}

tg_status tg_err_in(tg_err *err, const char *where)
{
    char message[TG_ERR_MAX];
    size_t length = strlen(where), max;

    if (!err)
        return TG_EDATA;
    memcpy(message, err->message, sizeof message);
    max = tg_size_max(WHERE_MIN,
                      sizeof message - tg_size_min(sizeof message, strlen(message) + sizeof "...: "));
    if (length > max) {
        where += length - max;
        while (tg_utf8_continues((unsigned char)*where)) /* begin with a whole character */
            where++;
    }
    if (snprintf(err->message, sizeof err->message, "%s%s: %s", length > max ? "..." : "", where, message) <
        0)
        err->message[0] = '\0';
    return err->code;
}
