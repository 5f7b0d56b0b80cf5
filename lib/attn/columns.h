/*
 * columns: numbers and their places as lines of text: aligned columns for the eye, or
 * tab-separated values or JSON objects for a program.
 *
 *     a row of scores   layer head b i j, q_base, k_base, offset, score, mask, prob
 *     of stage scores   ... score, mask       of stage probs   layer head b i j offset prob
 *     of q, k, v, att   layer head b t d offset value
 *     of x, qkv, out    layer b t c offset value
 *
 * Aligned, numbers have eight decimals.  Otherwise they are rounded to float32 first, and
 * have the nine significant digits that bring back every bit.
 */
#ifndef TG_ATTN_COLUMNS_H
#define TG_ATTN_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/attn/attn.h"
#include "lib/attn/shape.h"

typedef enum tg_attn_format { TG_ATTN_TEXT, TG_ATTN_TSV, TG_ATTN_JSONL } tg_attn_format;
#define TG_ATTN_FORMATS "text|tsv|jsonl"

#define TG_ATTN_COLUMNS 11

/* The tokens' texts, shown at the end of aligned lines: number t at text + t*size. */
typedef struct tg_attn_labels {
    const char *text; /* NULL: there are none */
    size_t size, width;
} tg_attn_labels;

typedef struct tg_attn_columns {
    tg_attn_format format;
    size_t n;
    unsigned char kind[TG_ATTN_COLUMNS];
    size_t width[TG_ATTN_COLUMNS]; /* 0 each unless aligned */
    char masked[24];               /* a masked score */
    bool square;                   /* rows of scores: two tokens a line */
    tg_attn_labels labels;
    size_t line_most; /* bytes */
} tg_attn_columns;

/* Lines under way. */
typedef struct tg_attn_text {
    char *text; /* [tg_attn_columns_room(lines that it shall hold)]; no NUL */
    size_t n;
} tg_attn_text;

/* Columns for one stage, or for rows of scores with their probabilities (TG_ATTN_EVERY),
 * wide enough for all of L layers of a view. */
void tg_attn_columns_set(tg_attn_columns *columns, tg_attn_stage stage, const tg_attn_view *view, size_t L,
                         tg_attn_format format, tg_attn_mask mask, const tg_attn_labels *labels);

/* The bytes that a text of so many lines wants; SIZE_MAX when that is too many. */
size_t tg_attn_columns_room(const tg_attn_columns *columns, size_t lines);

/* A line of titles, of which JSON has none. */
void tg_attn_put_titles(tg_attn_text *text, const tg_attn_columns *columns);

/* A line for each picked element of a row of scores. */
void tg_attn_put_row(tg_attn_text *text, const tg_attn_columns *columns, const tg_attn_row *row);

/* Numbers side by side at the end of an array's indices: q[b,t,h,0..n-1] and the like. */
typedef struct tg_attn_run {
    size_t layer, b, t, h;
    size_t offset; /* of the first */
    size_t n;
    const double *values;
} tg_attn_run;
void tg_attn_put_run(tg_attn_text *text, const tg_attn_columns *columns, const tg_attn_run *run);

#endif
