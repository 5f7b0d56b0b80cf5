/* view: words, numbers and the colour scale in a terminal. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/ansi.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define SHADES ".:-=+*#%@" /* in ascending order; masked cells are blank */
#define SCALE_COLUMNS 24

char ansi_shade(double place)
{
    const size_t last = strlen(SHADES) - 1;

    return SHADES[tg_size_min((size_t)(place * (double)(last + 1)), last)];
}

void ansi_put_words(struct ansi *a, const char *format, ...)
{
    char text[1024];
    size_t at = 0;
    va_list ap;

    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    for (const char *word = text; *word != '\0'; word += strspn(word, " ")) {
        const size_t n = strcspn(word, " ");

        if (at > 0)
            tg_sink_put(a->out, at + 1 + n > a->width ? "\n" : " ", 1);
        at = at > 0 && at + 1 + n <= a->width ? at + 1 + n : n;
        tg_sink_put(a->out, word, n);
        word += n;
    }
    tg_sink_put(a->out, "\n", 1);
}

void ansi_put_line(struct ansi *a, const char *text)
{
    char shown[4 * ANSI_TOKEN];

    (void)(a->utf8 ? tg_label_show : tg_label_show_ascii)(shown, sizeof shown, text, strlen(text));
    ansi_put_words(a, "%s", shown);
}

static void put_bar(struct ansi *a, size_t n)
{
    char shade[2] = " ";

    for (size_t c = 0; c < n; c++) {
        const double place = (double)c / (double)(n - 1);

        ansi_colors(a, ANSI_NONE, tg_colormap_step(place));
        if (a->color == VIEW_NEVER)
            shade[0] = ansi_shade(place);
        tg_sink_put(a->out, shade, 1);
    }
    ansi_colors(a, ANSI_NONE, ANSI_NONE);
}

void ansi_put_scale(struct ansi *a, const tg_scale *s, const char *quantity)
{
    const char *name = view_scale_name(s);
    char low[32], high[32];
    size_t width, bar = strlen(SHADES);

    snprintf(low, sizeof low, "%.4g", tg_scale_number(s, 0));
    snprintf(high, sizeof high, "%.4g%s", tg_scale_number(s, 1), view_scale_cuts(s) ? " or more" : "");
    tg_sink_print(a->out, "%s%c", quantity, a->width < 2 * SCALE_COLUMNS ? '\n' : ' ');
    width = a->width - tg_size_min(a->width, strlen(low) + strlen(high) + 2);
    if (a->color != VIEW_NEVER)
        bar = tg_size_min(SCALE_COLUMNS, tg_size_max(width, bar));
    if (bar <= width) {
        tg_sink_print(a->out, "%s ", low);
        put_bar(a, bar);
        tg_sink_print(a->out, " %s\n", high);
    } else {
        put_bar(a, bar);
        tg_sink_print(a->out, "\n");
        ansi_put_words(a, "%s to %s", low, high);
    }
    if (name)
        ansi_put_words(a, "colours follow the %s: %.2g is in the middle", name, tg_scale_number(s, 0.5));
}

void ansi_put_title(struct ansi *a, const char *title)
{
    char name[1024], shown[4 * sizeof name];

    cli_escape(name, sizeof name, (const unsigned char *)title, strlen(title));
    (void)(a->utf8 ? tg_label_show : tg_label_show_ascii)(shown, sizeof shown, name, strlen(name));
    view_field(a->out, shown, tg_size_min(tg_label_width(shown), a->width), a->more);
    ansi_end_line(a);
}

void ansi_put_number(struct ansi *a, const tg_scale *scale, double x, size_t columns)
{
    char text[64];
    const unsigned color = isfinite(x) ? tg_colormap_step(tg_scale_place(scale, x)) : ANSI_NONE;

    ansi_colors(a, color == ANSI_NONE ? ANSI_NONE : ansi_ink(a, color), color);
    if (color == ANSI_NONE)
        snprintf(text, sizeof text, "%*s", (int)columns, "");
    else
        snprintf(text, sizeof text, "%*.2f ", (int)columns - 1, x);
    tg_sink_put(a->out, text, strlen(text));
}

void ansi_put_right(struct ansi *a, const char *label, size_t cell)
{
    const size_t used = tg_size_min(tg_label_width(label), cell - 1);

    ansi_repeat(a, " ", cell - 1 - used);
    view_field(a->out, label, used, a->more);
    tg_sink_put(a->out, " ", 1);
}
