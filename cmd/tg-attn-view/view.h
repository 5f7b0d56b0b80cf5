/*
 * view: what the parts of tg-attn-view share: the maps to draw, and labels.
 */
#ifndef TG_CMD_VIEW_H
#define TG_CMD_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/tg-attn-view/beside.h"
#include "formats/sink.h"
#include "lib/base/status.h"
#include "lib/dump/dump_read.h"
#include "lib/heads/head_stats.h"
#include "lib/view/colormap.h"
#include "lib/view/grid.h"
#include "lib/view/scale.h"

/* ---- labels */

#define VIEW_LABEL 160 /* bytes of a token's text as shown, NUL included */

/* Print a label (lib/view/label.h) in exactly `columns` columns; a longer one is cut and ends with
 * `more`. */
void view_field(tg_sink *out, const char *label, size_t columns, const char *more);

/* Make the label of a token from its text in an archive, which tg's tools have made visible, but another
 * program may not. */
void view_make_label(char label[VIEW_LABEL], const char *text, size_t n);

/* ---- what is drawn */

typedef struct view_map {
    const tg_dump_layer *layer;
    size_t head;
    tg_grid grid;
} view_map;

/* What a head does. */
typedef struct view_measures {
    bool known; /* false: there is one token, or a number that is not finite */
    tg_head_means means;
} view_measures;

/* What colours begin at.  VIEW_PAPER_AUTO: the terminal's background, as far as it tells; otherwise light. */
typedef enum view_paper { VIEW_PAPER_AUTO, VIEW_LIGHT, VIEW_DARK } view_paper;
#define VIEW_PAPERS "auto|light|dark" /* in that order */

typedef struct view {
    const tg_dump *dump;
    const char *name;   /* of the input */
    const char *title;  /* of the picture, or NULL */
    tg_attn_stage show; /* TG_ATTN_PROBS or TG_ATTN_SCORES */
    bool page;          /* draw from q and k, whatever else the dump holds */
    view_paper paper;
    size_t b;
    char (*label)[VIEW_LABEL]; /* [T] the tokens as shown; NULL: the dump has none */
    size_t id_width; /* columns of an id, "id" included; 0: the dump has none, or the labels tell them */
    view_map *map;   /* [n] by layer, then head */
    size_t n;
    view_measures *measures; /* [dump->n][H], by view_measure(); or NULL */
    tg_scale scale;          /* view_fill() sets its range */
} view;

/* Layers or heads to draw; n = 0: all. */
#define VIEW_LIST_MAX 64
typedef struct view_list {
    size_t index[VIEW_LIST_MAX], n;
} view_list;
bool view_list_keeps(const view_list *list, size_t index);

/* Set up the labels, and the maps of these layers and heads, in ascending order.  TG_EUSAGE: the dump has no
 * such layer, head or sequence; TG_EDATA: it lacks the arrays that the maps are made of. */
TG_MUST_CHECK tg_status view_choose(view *v, const view_list *layers, const view_list *heads, tg_err *err);

/* Make the labels and set id_width.  TG_ENOMEM. */
TG_MUST_CHECK tg_status view_make_labels(view *v, tg_err *err);

/* Fill all maps' grids, n tokens per cell, and set the range of the scale: from 0 for probabilities, as far
 * below 0 as above for scores. */
TG_MUST_CHECK tg_status view_fill(view *v, size_t n, tg_err *err);
void view_free(view *v);

/* Compute the measures of all heads from the dump's q and k.  TG_ENOMEM. */
TG_MUST_CHECK tg_status view_measure(view *v, tg_err *err);

/* The number of consecutive maps, from `first`, that share its layer. */
size_t view_same_layer(const view *v, size_t first);

/* The number of consecutive maps, from `first`, that a sheet puts side by side: a layer's, or all maps if
 * each is of another layer. */
size_t view_group(const view *v, size_t first);

/* Copy an input's name without its folders to out, printable. */
void view_input(const char *path, char *out, size_t size);

/* Copy the title, or if it is NULL the same, printable. */
void view_name(const char *title, const char *path, char *out, size_t size);

/* "probability" or "score" */
const char *view_quantity(const view *v);

/* Whether the end of the scale also stands for greater values. */
bool view_scale_cuts(const tg_scale *scale);

/* "square root", "logarithm", or NULL for a linear scale */
const char *view_scale_name(const tg_scale *scale);

/* ---- the ways of drawing */

typedef enum view_color { VIEW_AUTO, VIEW_NEVER, VIEW_256, VIEW_TRUECOLOR } view_color;
#define VIEW_COLORS "auto|never|256|truecolor" /* in that order */

/* In a terminal, or as text; width 0: the terminal's.  Failures to write are kept in out. */
TG_MUST_CHECK tg_status view_ansi(view *v, tg_sink *out, view_color color, size_t width, tg_err *err);

/* As an image, written whole to fd. */
TG_MUST_CHECK tg_status view_png(view *v, int fd, tg_err *err);

/* As an image of rectangles and text.  Failures to write are kept in out. */
TG_MUST_CHECK tg_status view_svg(view *v, tg_sink *out, tg_err *err);

/* One head, the first map's, from q and k to att, as an SVG image.  TG_EDATA: there is too much of it.
 * Failures to write are kept in out. */
TG_MUST_CHECK tg_status view_steps(view *v, tg_sink *out, tg_err *err);

/* Whether another dump can be on the page of the first: as many tokens, the same shape and rule of scores.
 * TG_EDATA, with what differs. */
TG_MUST_CHECK tg_status view_check_alike(const view *first, const view *other, tg_err *err);

/* As one page, of page/'s files, which page.c embeds, of n views that are alike, with archives of the first
 * one's text; n = 0: of these alone, with a title or NULL for their names; `whole`: however heavy it gets.
 * Failures to write are kept in out. */
TG_MUST_CHECK tg_status view_html(view *v, size_t n, const view_beside *beside, const char *title, bool whole,
                                  tg_sink *out, tg_err *err);
extern const char view_page_html[], view_page_style[], view_page_script[];
extern const size_t view_page_style_size, view_page_script_size;

#endif
