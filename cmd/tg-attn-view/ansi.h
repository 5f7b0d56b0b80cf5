/*
 * ansi: what the parts of the view in a terminal share: the terminal (term.c), how a map is laid out, and the
 * tokens along its sides (axes.c).
 */
#ifndef TG_CMD_VIEW_ANSI_H
#define TG_CMD_VIEW_ANSI_H

#include "cmd/tg-attn-view/view.h"

/* A colour: a step of the map, or one of these. */
#define ANSI_BLACK TG_COLORMAP_SIZE
#define ANSI_WHITE (TG_COLORMAP_SIZE + 1)
#define ANSI_NONE (TG_COLORMAP_SIZE + 2) /* the terminal's own */

struct ansi {
    view *v; /* the maps, of the functions that draw these */
    tg_sink *out;
    view_color color; /* resolved: not VIEW_AUTO */
    bool utf8;
    size_t width;    /* the terminal's */
    unsigned fg, bg; /* currently set */
    tg_rgb rgb[ANSI_NONE];
    unsigned char index[ANSI_NONE]; /* the same among 256 colours */
    const char *more, *blank;
};

/* Find out what the terminal can do; color, unless VIEW_AUTO, and width, unless 0, override that. */
void ansi_begin(struct ansi *a, tg_sink *out, view_color color, size_t width, view_paper paper,
                bool diverges);

/* Set both colours.  Writes nothing for a colour that is already set, or if there are none. */
void ansi_colors(struct ansi *a, unsigned fg, unsigned bg);

/* Black or white, whichever is readable on this colour. */
unsigned ansi_ink(const struct ansi *a, unsigned color);

/* End a line, back in the terminal's own colours. */
void ansi_end_line(struct ansi *a);

void ansi_repeat(struct ansi *a, const char *text, size_t n);

/* The character that stands for a place on the scale where there are no colours. */
char ansi_shade(double place);

/* Print a sentence, wrapped to fit the terminal. */
TG_PRINTF(2, 3) void ansi_put_words(struct ansi *a, const char *format, ...);

/* Print a text of labels, wrapped likewise. */
void ansi_put_line(struct ansi *a, const char *text);

/* Print the title, on a line. */
void ansi_put_title(struct ansi *a, const char *title);

/* Print the quantity and its scale. */
void ansi_put_scale(struct ansi *a, const tg_scale *scale, const char *quantity);

/* Print a number in a cell of its colour; blank if it is not finite. */
void ansi_put_number(struct ansi *a, const tg_scale *scale, double x, size_t columns);

/* Print a label at the right end of a cell. */
void ansi_put_right(struct ansi *a, const char *label, size_t cell);

/* How cells fill the lines of a map. */
typedef struct ansi_layout {
    size_t n;       /* tokens per cell */
    size_t columns; /* of a cell */
    bool halves;    /* a line shows two rows of cells, as half blocks */
    size_t side, lines;
} ansi_layout;

/* Queries that a line stands for. */
size_t ansi_queries(const ansi_layout *l);

/* What precedes the lines of a map: positions, then tokens or nothing, then ids or nothing. */
typedef struct ansi_margin {
    size_t columns; /* of all, with a space at the end */
    size_t digits;  /* of a position */
    size_t text;    /* columns of the tokens */
    size_t id;      /* columns of an id */
} ansi_margin;

/* Without ids, and without tokens where a line stands for more than two. */
ansi_margin ansi_margin_for(const struct ansi *a, const ansi_layout *l);

/* Add ids, or tokens where there are none yet, if the terminal has room for them next to the map. */
void ansi_widen_margin(ansi_margin *m, const struct ansi *a, const ansi_layout *l);

/* Print the label of a line whose first query is `first`: "12 token  366", "12 token token" if it stands
 * for two, "12-25 tokens" if its cells stand for several. */
void ansi_put_query(struct ansi *a, const ansi_margin *m, const ansi_layout *l, size_t first);

/* Print the keys above a map: their tokens upright, if these are short, or positions. */
void ansi_put_keys(struct ansi *a, const ansi_margin *m, const ansi_layout *l);

/* Print positions above the columns of a map, every tenth one or so; all of a small map. */
void ansi_put_ticks(struct ansi *a, const ansi_layout *l);

#define ANSI_TOKEN (4 * VIEW_LABEL)

/* Write a label to `out` as this terminal can show it, with visible blanks.  Returns out. */
const char *ansi_visible(const struct ansi *a, const char *label, char out[ANSI_TOKEN]);

/* Write token t to `out` as this terminal can show it, likewise. */
const char *ansi_token(const struct ansi *a, size_t t, char out[ANSI_TOKEN]);

/* The columns of the widest label of `n` adjacent tokens, up to `max`. */
size_t ansi_widest_tokens(const struct ansi *a, size_t n, size_t max);

#endif
