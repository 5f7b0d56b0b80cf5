/* view: output that is counted. */
#include "cmd/tg-attn-view/view.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/base/size.h"

void view_put(view_out *out, const void *data, size_t n)
{
    out->total += n;
    tg_sink_put(&out->sink, data, n);
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
