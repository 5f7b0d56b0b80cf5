/* view: buffered output. */
#include "cmd/tg-attn-view/view.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "formats/sink.h"
#include "lib/base/size.h"

tg_status view_flush(view_out *out)
{
    if (!out->status)
        out->status = tg_write_all(out->fd, out->buffer, out->n, out->err);
    out->n = 0;
    return out->status;
}

void view_put(view_out *out, const void *data, size_t n)
{
    const char *bytes = data;

    out->total += n;
    while (n > 0) {
        const size_t take = tg_size_min(n, sizeof out->buffer - out->n);

        memcpy(out->buffer + out->n, bytes, take);
        out->n += take;
        bytes += take;
        n -= take;
        if (out->n == sizeof out->buffer && view_flush(out))
            return;
    }
}

void view_print(view_out *out, const char *format, ...)
{
    char text[1024];
    va_list ap;
    int n;

    va_start(ap, format);
    n = vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    if (n > 0)
        view_put(out, text, tg_size_min((size_t)n, sizeof text - 1));
}
