/*
 * columns: which columns the lines of a stage have, and their widths.
 *
 *     rows of scores    layer head b i j q_base k_base offset score mask prob
 *     stage scores      the same without prob
 *     stage probs       layer head b i j offset prob
 *     q, k, v, att      layer head b t d offset value
 *     x, qkv, out       layer b t c offset value
 *
 * In format text, numbers are aligned and have eight decimals.  At the end come the tokens, if there are any:
 * in text their labels, in TSV and JSON their texts, token_i and token_j, or token.
 */
#ifndef TG_CMD_LINES_COLUMNS_H
#define TG_CMD_LINES_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/lines/table.h"
#include "lib/attn/attn.h"
#include "lib/attn/shape.h"

/* The tokens' labels, shown at the end of lines: token t's is at text + t*size.  In aligned lines each is an
 * id, if ids are shown, and a quoted text: 366 " as"; in TSV and JSON it is a value as these write it. */
typedef struct token_labels {
    char *text; /* NULL: no tokens */
    size_t size;
    size_t width;    /* columns of the widest in a terminal */
    size_t id_width; /* columns of the ids; 0: the texts tell them */
} token_labels;

/* NULL without tokens. */
static inline const char *label_of(const token_labels *labels, size_t t)
{
    return labels->text ? labels->text + t * labels->size : NULL;
}

/* Title two columns for the labels of two tokens, or the first of them for those of one, in text, whose words
 * `title` holds. */
#define COLUMNS_TITLE_SIZE 80
void columns_title_labels(table_column column[2], char title[2][COLUMNS_TITLE_SIZE],
                          const token_labels *labels, bool two);

/* Token t's label, before another: in aligned lines `padded`, which gets it with spaces after it. */
#define COLUMNS_PADDED_SIZE 160
const char *columns_pad_label(char padded[COLUMNS_PADDED_SIZE], const token_labels *labels, size_t t);

/* What the columns depend on. */
typedef struct columns_of {
    tg_attn_stage stage; /* TG_ATTN_EVERY: rows of scores with their probabilities */
    tg_qkv_view view;    /* shape and layout; the pointers are ignored */
    size_t L;
    table_format format;
    tg_attn_mask mask;
    token_labels labels; /* as this format has them */
} columns_of;

/* A column of each kind, in their order on any line; those that a stage lacks are hidden. */
enum column_kind {
    COLUMN_LAYER,
    COLUMN_HEAD,
    COLUMN_B,
    COLUMN_I,
    COLUMN_J,
    COLUMN_T,
    COLUMN_D,
    COLUMN_C,
    COLUMN_Q_BASE,
    COLUMN_K_BASE,
    COLUMN_OFFSET,
    COLUMN_SCORE,
    COLUMN_MASK,
    COLUMN_PROB,
    COLUMN_VALUE,
    COLUMN_TOKEN_I, /* or the only token */
    COLUMN_TOKEN_J,
    COLUMN_KINDS
};

typedef struct columns {
    table table;     /* points into the struct, which stays where it is */
    char masked[24]; /* a masked score, as text */
    char title[2][COLUMNS_TITLE_SIZE];
    token_labels labels;
} columns;

void columns_set(columns *columns, const columns_of *of);

/* Write a line for each element of a row of scores that the filter keeps. */
void columns_put_row(table_text *to, const columns *columns, const tg_attn_row *row);

/* Contiguous numbers whose indices differ only in the last: q[b,t,h,0..n-1] and the like. */
typedef struct value_run {
    size_t layer, b, t, h;
    size_t offset; /* of the first */
    size_t n;
    const double *values;
} value_run;
void columns_put_run(table_text *to, const columns *columns, const value_run *run);

#endif
