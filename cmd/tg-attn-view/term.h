/*
 * view_term: the abilities of a terminal, and its current colours.
 */
#ifndef TG_CMD_VIEW_TERM_H
#define TG_CMD_VIEW_TERM_H

#include "cmd/tg-attn-view/view.h"

/* A colour: a step of the map, or one of these. */
#define VIEW_BLACK TG_COLORMAP_SIZE
#define VIEW_WHITE (TG_COLORMAP_SIZE + 1)
#define VIEW_NONE (TG_COLORMAP_SIZE + 2) /* the terminal's own */

typedef struct view_term {
    view_out *out;
    view_color color; /* resolved: not VIEW_AUTO */
    bool utf8;
    size_t width;
    unsigned fg, bg; /* currently set */
    tg_rgb rgb[VIEW_NONE];
    unsigned char index[VIEW_NONE]; /* the same among 256 colours */
} view_term;

/* Find out what the terminal can do; color, unless VIEW_AUTO, and width, unless 0, override that.
 * diverges: so do the numbers. */
void view_term_begin(view_term *t, view_out *out, view_color color, size_t width, bool diverges);

/* Set both colours.  Writes nothing for a colour that is already set, or if there are none. */
void view_term_colors(view_term *t, unsigned fg, unsigned bg);

/* Black or white, whichever is readable on this colour. */
unsigned view_term_ink(const view_term *t, unsigned color);

/* End a line, back in the terminal's own colours. */
void view_term_line(view_term *t);

#endif
