/*
 * heat: results of tg-lens, tg-patch and tg-circuit as a map: a row for each layer, or each head, a column
 * for each token, or each head, and in each cell a number, by its colour, or a token.
 */
#ifndef TG_CMD_VIEW_HEAT_H
#define TG_CMD_VIEW_HEAT_H

#include "cmd/tg-attn-view/view.h"
#include "lib/results/results.h"

/* What can be drawn of each kind; the first one if nothing is asked for. */
#define HEAT_LENS "probs|rank|logit|entropy|kl"
#define HEAT_ATTRIBUTION "parts|keys"
#define HEAT_PATCH "effect|metric"
#define HEAT_ABLATION "change|faithfulness|metric"
#define HEAT_HEADS "copying|positive|duplicate|previous|diagonal|ov_norm|qk_norm" /* of a circuit */
#define HEAT_EXCESS "k_excess|q_excess|v_excess" /* or of its pairs, where it has a baseline, */
#define HEAT_PAIRS "k|q|v"                       /* and without it */
#define HEAT_SHOWS                                                                                           \
    "rank|logit|entropy|kl|" HEAT_ATTRIBUTION "|" HEAT_PATCH "|change|faithfulness|" HEAT_HEADS              \
    "|" HEAT_EXCESS "|" HEAT_PAIRS /* and probs */

#define HEAT_NAME 48  /* bytes of a row's or a column's name, with NUL */
#define HEAT_LINES 4  /* of words about the map */
#define HEAT_LINE 240 /* bytes of one */

typedef struct heat {
    const char *name, *title; /* of the input; of the picture, or NULL */
    view_paper paper;
    size_t rows, columns;
    char (*row)[HEAT_NAME];    /* [rows] "3", or "3.1" */
    char (*column)[HEAT_NAME]; /* [columns] "12", "mlp" */
    char (*token)[VIEW_LABEL]; /* [columns], or NULL */
    char (*other)[VIEW_LABEL]; /* [columns] "/" and the token of another prompt, or "" if that has the same
                                  one; or NULL */
    double *value;             /* [rows,columns]; NaN: none */
    char (*text)[VIEW_LABEL];  /* [rows,columns] the most probable token, in place of the number; or NULL */
    const char *rows_are, *columns_are;
    int decimals; /* of a number in a cell */
    bool diverges;
    tg_scale scale;
    char quantity[HEAT_LINE];
    char about[HEAT_LINES][HEAT_LINE]; /* "": none */
} heat;

/* What is asked for. */
typedef struct heat_want {
    const char *show; /* NULL: not given */
    const view_list *layers, *heads;
    tg_scale_kind scale; /* of probabilities */
    bool scale_given;
} heat_want;

/* Make the map, except name, title and paper; heat_free() also after a failure.  TG_EUSAGE: there is no such
 * layer, head or quantity; TG_ENOMEM. */
TG_MUST_CHECK tg_status heat_make(heat *h, const tg_results *r, const heat_want *want, tg_err *err);
void heat_free(heat *h);

/* The colour's step of a cell; false: it has no number. */
bool heat_step(unsigned *step, const heat *h, size_t row, size_t column);

/* A cell's number as text, "0" if it is exactly 0; "" without one. */
#define HEAT_NUMBER 40
void heat_number(char out[HEAT_NUMBER], const heat *h, size_t row, size_t column);
size_t heat_widest_number(const heat *h);

/* "layer down, token across", and what cells have, if their texts are drawn. */
void heat_axes(char out[HEAT_LINE], const heat *h, bool texts);

/* In a terminal, or as text; as images: as the functions of view.h do. */
TG_MUST_CHECK tg_status heat_ansi(const heat *h, tg_sink *out, view_color color, size_t width, tg_err *err);
TG_MUST_CHECK tg_status heat_png(const heat *h, int fd, tg_err *err);
TG_MUST_CHECK tg_status heat_svg(const heat *h, tg_sink *out, tg_err *err);

/* ---- what makes a map of each kind (heat_lens.c, heat_patch.c, heat_circuit.c, heat_edges.c,
 * heat_ablation.c) */

/* Which rows or columns of an archive are kept. */
typedef struct heat_axis {
    size_t n, *index; /* [n] places in the archive */
    size_t *number;   /* [n] the layers or heads there */
} heat_axis;

/* Those of `number` [n], or of 0 .. n - 1 if it is NULL, that the list keeps.  TG_EUSAGE: the list has one
 * that is not among them; TG_ENOMEM. */
TG_MUST_CHECK tg_status heat_choose(heat_axis *axis, const char *what, const int64_t *number, size_t n,
                                    const view_list *list, tg_err *err);
void heat_axis_free(heat_axis *axis);

/* Take memory for rows and columns, with tokens and texts if they are wanted.  TG_ENOMEM. */
TG_MUST_CHECK tg_status heat_place(heat *h, size_t rows, size_t columns, bool tokens, bool texts,
                                   tg_err *err);

/* Name the column of a position: its number, and if the map has tokens the token. */
void heat_name_position(heat *h, size_t column, const tg_results *r, size_t position);

/* The label of token t of an archive: its text, or its id where there are no texts; "" without ids. */
void heat_label(char label[VIEW_LABEL], const tg_results *r, const char *ids_name, const char *text_name,
                size_t t);

/* A token in a sentence: in quotes the text that the array `text` has, or, in archives that lack it, that of
 * the same id in the archive's tokens; else the id. */
#define HEAT_TOKEN 64
void heat_name_token(char out[HEAT_TOKEN + 2], const tg_results *r, const char *id, const char *text);

/* Name a row: a layer, or a head in it. */
void heat_name_layer(heat *h, size_t row, size_t layer);
void heat_name_head(heat *h, size_t row, size_t layer, size_t head);

/* Describe patches of something: the quantity, and what it is of.  effect: or the metric. */
void heat_describe_patches(heat *h, const tg_results *r, bool effect, const char *of);

/* " of "d" less "e"", the tokens that a metric is of, or nothing where the archive does not tell. */
#define HEAT_ANSWERS 144
void heat_name_answers(char out[HEAT_ANSWERS], const tg_results *r);

/* Set a linear range: of all numbers; from 0; or as far below 0 as above. */
typedef enum heat_range { HEAT_ALL, HEAT_FROM_ZERO, HEAT_DIVERGING } heat_range;
void heat_set_range(heat *h, heat_range range);
void heat_widen(heat *h, double most); /* let a diverging range reach at least to -most and most */

TG_MUST_CHECK tg_status heat_of_lens(heat *h, const tg_results *r, const heat_want *want, const char *show,
                                     tg_err *err);
TG_MUST_CHECK tg_status heat_of_attribution(heat *h, const tg_results *r, const heat_want *want,
                                            const char *show, tg_err *err);
TG_MUST_CHECK tg_status heat_of_patch(heat *h, const tg_results *r, const heat_want *want, const char *show,
                                      tg_err *err);
TG_MUST_CHECK tg_status heat_of_circuit(heat *h, const tg_results *r, const heat_want *want, const char *show,
                                        tg_err *err);
TG_MUST_CHECK tg_status heat_of_edges(heat *h, const tg_results *r, const heat_want *want, const char *show,
                                      tg_err *err);
TG_MUST_CHECK tg_status heat_of_ablation(heat *h, const tg_results *r, const heat_want *want,
                                         const char *show, tg_err *err);

#endif
