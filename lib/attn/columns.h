/*
 * columns: a row's numbers as text, in aligned columns for the eye or as
 * tab-separated values for a program.
 *
 *     layer head b i j, q base, k base, offset in scores, score, mask, prob
 *
 * Aligned, numbers have eight decimals; tab-separated, the nine significant digits
 * that tell any two float32 numbers apart.
 */
#ifndef TG_ATTN_COLUMNS_H
#define TG_ATTN_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/attn/attn.h"

#define TG_ATTN_COLUMNS 11

/* A line under way, without a newline or NUL at its end; what does not fit is cut. */
typedef struct tg_attn_line {
    size_t n;
    char text[512];
} tg_attn_line;

typedef struct tg_attn_columns {
    bool tsv;
    const char *gap;
    char masked[16];               /* a masked score */
    size_t width[TG_ATTN_COLUMNS]; /* 0 each when tab-separated */
} tg_attn_columns;

/* Columns wide enough for all of L layers of a view. */
void tg_attn_columns_set(tg_attn_columns *columns, const tg_attn_view *view, size_t L, bool tsv);

void tg_attn_put_text(tg_attn_line *line, const char *text);
void tg_attn_put_titles(tg_attn_line *line, const tg_attn_columns *columns);

/* What all elements of a row share; then, behind it, element j. */
void tg_attn_put_row(tg_attn_line *line, const tg_attn_columns *columns, const tg_attn_row *row);
void tg_attn_put_element(tg_attn_line *line, const tg_attn_columns *columns, const tg_attn_row *row,
                         size_t j);

#endif
