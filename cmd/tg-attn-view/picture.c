/* view: the words of images, and their colour scale. */
#include "cmd/tg-attn-view/picture.h"

#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "lib/base/size.h"
#include "lib/view/font.h"
#include "lib/view/label.h"

#define PIXELS_MAX ((size_t)1 << 26)

tg_status picture_check_size(const view_picture *p, const char *advice, tg_err *err)
{
    size_t pixels;

    if (tg_size_mul(&pixels, p->width, p->height) && pixels <= PIXELS_MAX)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "the image would have %s x %s pixels, which exceeds %s: %s",
                   cli_count(p->width), cli_count(p->height), cli_count(PIXELS_MAX), advice);
}

size_t picture_text_width(size_t dot, size_t letters)
{
    return letters * TG_FONT_STEP * dot;
}

size_t picture_line_height(size_t dot)
{
    return (TG_FONT_HEIGHT + 3) * dot;
}

void picture_show(char *out, size_t size, bool ascii, const char *text)
{
    if (ascii)
        (void)tg_label_show_ascii(out, size, text, strlen(text));
    else
        (void)tg_label_show(out, size, text, strlen(text));
}

bool picture_is_ascii(const char *text)
{
    while (*text != '\0' && (unsigned char)*text < 0x80)
        text++;
    return *text == '\0';
}

size_t picture_label(char *out, size_t size, bool ascii, size_t columns, const char *text)
{
    const char *const blank = ascii ? (const char[]){TG_FONT_BLANK, '\0'} : "\xC2\xB7";
    const char *const more = ascii ? ".." : TG_LABEL_CUT;
    char shown[4 * VIEW_LABEL];
    size_t used, bytes, n = 0;

    picture_show(shown, sizeof shown, ascii, text);
    bytes = tg_label_fit(shown, columns, &used);
    if (shown[bytes] != '\0') {
        bytes = tg_label_fit(shown, columns - tg_size_min(tg_label_width(more), columns), &used);
        strcpy(shown + bytes, more);
    }
    *out = '\0';
    for (const char *c = shown; *c != '\0' && n < size; c++)
        n += (size_t)snprintf(out + n, size - n, "%s", *c == ' ' ? blank : (const char[]){*c, '\0'});
    return tg_size_min(n, size - 1);
}

unsigned picture_ink(const view_picture *p, unsigned step)
{
    return tg_rgb_luma(p->palette[step]) > 128 ? TG_INK_BLACK : TG_INK_WHITE;
}

void picture_scale(const view_picture *p, size_t x, size_t y, size_t dot, const tg_scale *scale)
{
    const size_t line = picture_line_height(dot);
    char text[128];

    for (size_t step = 0; step < PICTURE_SCALE_BAR; step++)
        p->fill(p, x + step, y, 1, line, (unsigned)step);
    for (size_t tick = 0; tick <= 2; tick++) {
        const size_t at = x + tick * (PICTURE_SCALE_BAR - 1) / 2;
        const int n = snprintf(text, sizeof text, "%.3g%s", tg_scale_number(scale, (double)tick / 2),
                               tick == 2 && view_scale_cuts(scale) ? "+" : "");

        p->fill(p, at, y + line, 1, 3 * dot, TG_INK_TEXT);
        p->text(p, at - picture_text_width(dot, (size_t)n) / 2, y + line + 4 * dot, dot, TG_RIGHT,
                TG_INK_TEXT, text);
    }
}
