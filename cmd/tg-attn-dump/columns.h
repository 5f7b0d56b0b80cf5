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
#ifndef TG_CMD_ATTN_DUMP_COLUMNS_H
#define TG_CMD_ATTN_DUMP_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/tg-attn-dump/table.h"
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

/* Write the title of the labels of one token, or of two, to out [COLUMNS_LABEL_TITLE], with a space before
 * it; "" without labels. */
#define COLUMNS_LABEL_TITLE 160
void columns_label_title(char *out, const token_labels *labels, bool two);

/* Spaces after a label that precedes another. */
size_t columns_label_padding(const token_labels *labels, const char *label);

/* What the columns depend on. */
typedef struct columns_of {
    tg_attn_stage stage; /* TG_ATTN_EVERY: rows of scores with their probabilities */
    tg_qkv_view view;    /* shape and layout; the pointers are ignored */
    size_t L;
    table_format format;
    tg_attn_mask mask;
    token_labels labels; /* as this format has them */
} columns_of;

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
    COLUMN_MASK,
    COLUMN_SCORE,
    COLUMN_PROB,
    COLUMN_VALUE,
    COLUMN_KINDS
};

typedef struct columns {
    table table;
    size_t at[COLUMN_KINDS]; /* the column of each kind; TABLE_COLUMNS_MAX: none */
    char masked[24];         /* a masked score, as text */
    bool square;             /* rows of scores: two tokens per line */
    token_labels labels;
} columns;

void columns_set(columns *columns, const columns_of *of);

/* The bytes that this many lines need, titles included; SIZE_MAX on overflow. */
size_t columns_capacity(const columns *columns, size_t lines);

/* Write the line of titles to a text, or print it.  JSON has none. */
void columns_put_titles(table_text *to, const columns *columns);
void columns_print_titles(const columns *columns);

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
