/*
 * sheet: the maps as a picture, one large map or all of them side by side: where each cell, label and part
 * of the legend is.  PNG and SVG draw the same sheet, each on a separate canvas.
 */
#ifndef TG_CMD_VIEW_SHEET_H
#define TG_CMD_VIEW_SHEET_H

#include "cmd/tg-attn-view/view.h"
#include "lib/view/raster.h"

/* All in pixels, except where noted. */
struct view_layout {
    bool ascii;             /* the letters are lib/view/font.h's; otherwise UTF-8 */
    size_t dot, cell, step; /* of a letter's dot; of a cell; step: tokens from one label to the next */
    size_t left, top;       /* of a map: its labels and title */
    size_t ids;             /* of these, the tokens' ids; 0: none */
    bool positions;         /* the labels are positions alone */
    size_t map_width, map_height;
    size_t columns, rows; /* maps */
    size_t width, height;
};

typedef struct view_sheet {
    const view *v;
    struct view_layout l;
    tg_rgb palette[TG_INK_END];
    char name[1024]; /* the title, or "dump.npz: probabilities, 3 tokens" */
    /* What it is drawn on; the arguments, and the inks, are those of lib/view/raster.h. */
    void *canvas;
    void (*fill)(const struct view_sheet *s, size_t x, size_t y, size_t width, size_t height, unsigned ink);
    void (*hatch)(const struct view_sheet *s, size_t x, size_t y, size_t width, size_t height);
    void (*text)(const struct view_sheet *s, size_t x, size_t y, size_t dot, tg_direction direction,
                 unsigned ink, const char *text);
} view_sheet;

/* Lay out the sheet and fill the maps' grids; the caller sets the canvas.  TG_EUSAGE: it has too many pixels;
 * TG_ENOMEM. */
TG_MUST_CHECK tg_status view_sheet_make(view_sheet *sheet, view *v, bool ascii, tg_err *err);

/* Whether labels or the name have characters that the sheet's letters lack. */
bool view_sheet_lacks_letters(const view_sheet *sheet);

void view_sheet_draw(const view_sheet *sheet);

#endif
