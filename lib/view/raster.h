/*
 * raster: an image of one byte per pixel, an index into a palette: the steps of the colour
 * map, then a few inks.
 */
#ifndef TG_VIEW_RASTER_H
#define TG_VIEW_RASTER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"
#include "lib/view/colormap.h"

enum tg_ink {
    TG_INK_PAPER = TG_COLORMAP_SIZE,
    TG_INK_BLACK, /* on cells, like */
    TG_INK_WHITE,
    TG_INK_FAINT,  /* secondary text */
    TG_INK_HATCH,  /* the lines over masked cells, */
    TG_INK_MASKED, /* and between the lines */
    TG_INK_TEXT,   /* on paper */
    TG_INK_END
};

typedef struct tg_raster {
    size_t width, height;
    unsigned char *pixel;  /* [height,width] */
    const tg_rgb *palette; /* [TG_INK_END], for smooth letters; or NULL */
} tg_raster;

/* Make a blank image.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_raster_make(tg_raster *raster, size_t width, size_t height, tg_err *err);
void tg_raster_free(tg_raster *raster); /* accepts a zeroed one */

/* The colours of numbers; then the inks on white paper, or on dark. */
void tg_raster_palette(tg_rgb palette[TG_INK_END], tg_colormap which);

/* All of these clip to the image. */
void tg_raster_fill(tg_raster *raster, size_t x, size_t y, size_t width, size_t height, unsigned ink);
void tg_raster_hatch(tg_raster *raster, size_t x, size_t y, size_t width, size_t height);

/* Draw a line of text with dots of `size` pixels: rightwards, with (x, y) its top left corner; or
 * upwards, with (x, y) its bottom left corner.  With a palette and size > 1, dots are joined to
 * strokes with round corners, whose edges have the inks between the letter's and what is under it. */
typedef enum tg_direction { TG_RIGHT, TG_UP } tg_direction;
void tg_raster_text(tg_raster *raster, size_t x, size_t y, size_t size, tg_direction direction, unsigned ink,
                    const char *text);

#endif
