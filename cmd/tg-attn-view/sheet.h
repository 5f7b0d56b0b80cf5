/*
 * sheet: the maps as a picture, one large map or all of them side by side: where each cell, label and part
 * of the legend is.
 */
#ifndef TG_CMD_VIEW_SHEET_H
#define TG_CMD_VIEW_SHEET_H

#include "cmd/tg-attn-view/picture.h"

/* All in pixels, except where noted. */
struct view_layout {
    bool ascii;             /* the letters are lib/view/font.h's; otherwise UTF-8 */
    size_t dot, cell, step; /* of a letter's dot; of a cell; step: tokens from one label to the next */
    size_t left, top;       /* of a map: its labels and title */
    size_t ids;             /* of these, the tokens' ids; 0: none */
    bool positions;         /* the labels are positions alone */
    size_t map_width, map_height;
    size_t columns, rows; /* maps */
};

typedef struct view_sheet {
    view_picture picture;
    const view *v;
    struct view_layout l;
} view_sheet;

/* Lay out the sheet and fill the maps' grids; the sheet must not be moved.  TG_EUSAGE: it has too many
 * pixels; TG_ENOMEM. */
TG_MUST_CHECK tg_status view_sheet_make(view_sheet *sheet, view *v, bool ascii, tg_err *err);

#endif
