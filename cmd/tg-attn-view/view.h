/*
 * view: what the parts of tg-attn-view share: the maps to draw, labels, and a way out.
 */
#ifndef TG_CMD_VIEW_H
#define TG_CMD_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/dump/dump_read.h"
#include "lib/base/status.h"
#include "lib/view/colormap.h"
#include "lib/view/grid.h"
#include "lib/view/scale.h"

/* ---- output */

/* Bytes on their way to a descriptor.  The first failure is kept, what follows is dropped. */
typedef struct view_out {
    int fd;
    size_t n;
    tg_status status;
    tg_err *err;
    char buffer[1u << 16];
    unsigned long long total; /* bytes, with those still in the buffer */
} view_out;

void view_put(view_out *out, const void *data, size_t n);
void view_print(view_out *out, const char *format, ...) TG_PRINTF(2, 3);
TG_MUST_CHECK tg_status view_flush(view_out *out);

/* ---- labels */

#define VIEW_LABEL 160 /* bytes of a token's text as shown, with the NUL */

/* A character of a label: its bytes, and the columns that it takes in a terminal (0, 1, 2). */
size_t view_character(const char *text, size_t *columns);
size_t view_columns(const char *text);

/* Print text in exactly `columns` columns, cut with `more` at its end if it is longer. */
void view_field(view_out *out, const char *text, size_t columns, const char *more);

/* The same text into out [size], cut to fit, with invisible characters that direct others as \uNNNN;
 * or all that is not ASCII. */
void view_escape(char *out, size_t size, const char *text, bool ascii);

/* ---- what is drawn */

typedef struct view_map {
    const tg_dump_layer *layer;
    size_t head;
    tg_grid grid;
} view_map;

typedef struct view {
    const tg_dump *dump;
    const char *name;   /* of the input */
    tg_attn_stage show; /* TG_ATTN_PROBS or TG_ATTN_SCORES */
    bool page;          /* what is drawn is computed from q and k, whatever else the dump holds */
    size_t b;
    char (*label)[VIEW_LABEL]; /* [T] the tokens as shown; NULL: only their positions are known */
    view_map *map;             /* [n] layer by layer */
    size_t n;
    tg_scale scale; /* view_fill() sets its ends */
} view;

/* The maps of a layer and a head, or of all (TG_ATTN_ALL); and the labels.  TG_EUSAGE: there is no
 * such layer, head or sequence; TG_EDATA: the dump lacks what they are made of. */
TG_MUST_CHECK tg_status view_choose(view *v, size_t layer, size_t head, tg_err *err);

/* Fill all maps' grids, n tokens a cell, and set the ends of the scale: for probabilities 0 and 1,
 * for scores the least and the greatest. */
TG_MUST_CHECK tg_status view_fill(view *v, size_t n, tg_err *err);
void view_free(view *v);

/* How many of the maps from number `first` on are of one layer. */
size_t view_same_layer(const view *v, size_t first);

/* The input's name as text to show, without its folders, which who looks has no use for. */
void view_input(const view *v, char *out, size_t size);

/* "probability" or "score" */
const char *view_quantity(const view *v);

/* "square root", "logarithm", or NULL for a linear scale */
const char *view_scale_name(const view *v);

/* ---- the three ways of drawing */

typedef enum view_color { VIEW_AUTO, VIEW_NEVER, VIEW_256, VIEW_TRUECOLOR } view_color;
#define VIEW_COLORS "auto|never|256|truecolor" /* in that order */

/* In a terminal, or as text; width 0: the terminal's. */
TG_MUST_CHECK tg_status view_ansi(view *v, view_out *out, view_color color, size_t width, tg_err *err);

/* As an image. */
TG_MUST_CHECK tg_status view_png(view *v, view_out *out, tg_err *err);

/* As one page. */
TG_MUST_CHECK tg_status view_html(view *v, view_out *out, tg_err *err);

#endif
