#include "lib/view/raster.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/view/font.h"

#define HATCH_STEP 6 /* pixels between the lines */

tg_status tg_raster_make(tg_raster *raster, size_t width, size_t height, tg_err *err)
{
    size_t bytes;

    *raster = (tg_raster){.width = width, .height = height};
    if (!tg_size_mul(&bytes, width, height))
        bytes = SIZE_MAX;
    if (bytes == SIZE_MAX || !(raster->pixel = malloc(bytes)))
        return tg_fail_memory(err, bytes, "an image");
    memset(raster->pixel, TG_INK_PAPER, bytes);
    return TG_OK;
}

void tg_raster_free(tg_raster *raster)
{
    free(raster->pixel);
    *raster = (tg_raster){0};
}

static tg_rgb grey(unsigned char x)
{
    return (tg_rgb){x, x, x};
}

void tg_raster_palette(tg_rgb palette[TG_INK_END], tg_colormap which)
{
    const bool dark = which.dark;

    tg_colormap_fill(palette, which);
    palette[TG_INK_PAPER] = grey(dark ? 22 : 255);
    palette[TG_INK_BLACK] = grey(0);
    palette[TG_INK_WHITE] = grey(255);
    palette[TG_INK_FAINT] = grey(dark ? 160 : 96);
    palette[TG_INK_HATCH] = grey(dark ? 70 : 205);
    palette[TG_INK_MASKED] = grey(dark ? 34 : 242);
    palette[TG_INK_TEXT] = grey(dark ? 235 : 0);
}

void tg_raster_fill(tg_raster *r, size_t x, size_t y, size_t width, size_t height, unsigned ink)
{
    if (x >= r->width || y >= r->height)
        return;
    width = tg_size_min(width, r->width - x);
    height = tg_size_min(height, r->height - y);
    for (size_t line = y; line < y + height; line++)
        memset(r->pixel + line * r->width + x, (int)ink, width);
}

void tg_raster_hatch(tg_raster *r, size_t x, size_t y, size_t width, size_t height)
{
    for (size_t py = y; py < y + height && py < r->height; py++) {
        for (size_t px = x; px < x + width && px < r->width; px++)
            r->pixel[py * r->width + px] = (px + py) % HATCH_STEP == 0 ? TG_INK_HATCH : TG_INK_MASKED;
    }
}

/* Draw one dot of a line of text, at (along, across) the line, counted in dots. */
static void put_dot(tg_raster *r, size_t x, size_t y, size_t size, tg_direction direction, size_t along,
                    size_t across, unsigned ink)
{
    if (direction == TG_RIGHT)
        tg_raster_fill(r, x + along * size, y + across * size, size, size, ink);
    else if (y + 1 >= (along + 1) * size)
        tg_raster_fill(r, x + across * size, y + 1 - (along + 1) * size, size, size, ink);
}

void tg_raster_text(tg_raster *r, size_t x, size_t y, size_t size, tg_direction direction, unsigned ink,
                    const char *text)
{
    for (size_t at = 0; *text != '\0'; text++, at += TG_FONT_STEP) {
        const unsigned char *glyph = tg_font_glyph(*text);

        for (size_t row = 0; row < TG_FONT_HEIGHT; row++) {
            for (size_t column = 0; column < TG_FONT_WIDTH; column++) {
                if (glyph[row] >> (TG_FONT_WIDTH - 1 - column) & 1)
                    put_dot(r, x, y, size, direction, at + column, row, ink);
            }
        }
    }
}
