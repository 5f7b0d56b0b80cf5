/*
 * raster: an image of one byte a pixel, each a colour of a palette: the steps of the colour
 * map, and behind them a few inks.
 */
#ifndef TG_VIEW_RASTER_H
#define TG_VIEW_RASTER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"
#include "lib/view/colormap.h"

enum tg_ink {
    TG_INK_PAPER = TG_COLORMAP_SIZE,
    TG_INK_BLACK,
    TG_INK_WHITE,
    TG_INK_FAINT,  /* what is said beside */
    TG_INK_HATCH,  /* lines of what is masked ... */
    TG_INK_MASKED, /* ... and what is between them */
    TG_INK_END
};

typedef struct tg_raster {
    size_t width, height;
    unsigned char *pixel; /* [height,width] */
} tg_raster;

/* All paper.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_raster_make(tg_raster *raster, size_t width, size_t height, tg_err *err);
void tg_raster_free(tg_raster *raster); /* a zeroed one is fine */

void tg_raster_palette(tg_rgb palette[TG_INK_END]);

/* In all of these, what lies outside of the image is left out. */
void tg_raster_fill(tg_raster *raster, size_t x, size_t y, size_t width, size_t height, unsigned ink);
void tg_raster_hatch(tg_raster *raster, size_t x, size_t y, size_t width, size_t height);

/* A line of text, each dot `size` pixels wide: from the point (x, y) at its top left to the right,
 * or from its bottom left upwards. */
typedef enum tg_direction { TG_RIGHT, TG_UP } tg_direction;
void tg_raster_text(tg_raster *raster, size_t x, size_t y, size_t size, tg_direction direction, unsigned ink,
                    const char *text);

#endif
