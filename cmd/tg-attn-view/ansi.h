/*
 * ansi: what the parts of the view in a terminal share: how a map is laid out, and the tokens along its
 * sides (axes.c).
 */
#ifndef TG_CMD_VIEW_ANSI_H
#define TG_CMD_VIEW_ANSI_H

#include "cmd/tg-attn-view/term.h"

struct ansi {
    view *v;
    view_out *out;
    view_term term;
    size_t width; /* the terminal's */
    const char *more, *blank;
};

void ansi_repeat(struct ansi *a, const char *text, size_t n);

/* How cells fill the lines of a map. */
typedef struct ansi_layout {
    size_t n;       /* tokens per cell */
    size_t columns; /* of a cell */
    bool halves;    /* a line shows two rows of cells, as half blocks */
    size_t side, lines;
} ansi_layout;

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

/* Write token t to `out` as this terminal can show it, with visible blanks.  Returns out. */
#define ANSI_TOKEN (4 * VIEW_LABEL)
const char *ansi_token(const struct ansi *a, size_t t, char out[ANSI_TOKEN]);

/* The columns of the widest label of `n` adjacent tokens, up to `max`. */
size_t ansi_widest_tokens(const struct ansi *a, size_t n, size_t max);

#endif
