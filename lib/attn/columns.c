#include "lib/attn/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/nn/ref/ref.h"

enum { LAYER, HEAD, B, I, J, Q_BASE, K_BASE, OFFSET, SCORE, MASK, PROB };

/* The first title makes a line of titles a comment, like the header. */
static const char titles[2][TG_ATTN_COLUMNS][8] = {
    {"# layer", "head", "b", "i", "j", "q base", "k base", "offset", "score", "mask", "prob"},
    {"layer", "head", "b", "i", "j", "q_base", "k_base", "offset", "score", "masked", "prob"},
};

/* ---- a line */

/* Right-aligned in `width` columns. */
static void put(tg_attn_line *l, const char *text, size_t n, size_t width)
{
    for (; width > n && l->n < sizeof l->text; width--)
        l->text[l->n++] = ' ';
    n = tg_size_min(n, sizeof l->text - l->n);
    memcpy(l->text + l->n, text, n);
    l->n += n;
}

/* By hand: there are millions of these. */
static void put_size(tg_attn_line *l, size_t value, size_t width)
{
    char digits[24];
    size_t at = sizeof digits;

    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    put(l, digits + at, sizeof digits - at, width);
}

static void put_real(tg_attn_line *l, double value, bool short_form, size_t width)
{
    char text[40];
    int n = short_form || !(fabs(value) < 1e9) ? snprintf(text, sizeof text, "%.9g", value)
                                               : snprintf(text, sizeof text, "%.8f", value);

    put(l, text, (size_t)n, width);
}

void tg_attn_put_text(tg_attn_line *line, const char *text)
{
    put(line, text, strlen(text), 0);
}

/* ---- columns */

static size_t digits_of(size_t n)
{
    size_t digits = 1;

    while (n /= 10)
        digits++;
    return digits;
}

void tg_attn_columns_set(tg_attn_columns *columns, const tg_attn_view *a, size_t L, bool tsv)
{
    const size_t last_base = tg_attn_base(a, a->B - 1, a->T - 1, a->H - 1);
    const size_t last_offset = tg_attn_offset(a, a->B - 1, a->H - 1, a->T - 1, a->T - 1);
    const size_t greatest[OFFSET + 1] = {L - 1,    a->H - 1,  a->B - 1,  a->T - 1,
                                         a->T - 1, last_base, last_base, last_offset};

    *columns = (tg_attn_columns){.tsv = tsv, .gap = tsv ? "\t" : "  "};
    snprintf(columns->masked, sizeof columns->masked, "%g", TG_MASKED);
    for (size_t c = 0; !tsv && c < TG_ATTN_COLUMNS; c++)
        columns->width[c] = tg_size_max(strlen(titles[0][c]), c <= OFFSET ? digits_of(greatest[c]) : 0);
    if (!tsv)
        columns->width[SCORE] = columns->width[PROB] = strlen("-10.00000000");
}

void tg_attn_put_titles(tg_attn_line *line, const tg_attn_columns *columns)
{
    for (size_t c = 0; c < TG_ATTN_COLUMNS; c++) {
        const char *title = titles[columns->tsv][c];

        tg_attn_put_text(line, c > 0 ? columns->gap : "");
        put(line, title, strlen(title), columns->width[c]);
    }
}

/* Columns [from, to) of whole numbers, each with the gap behind it. */
static void put_sizes(tg_attn_line *l, const tg_attn_columns *columns, const size_t *value, size_t from,
                      size_t to)
{
    for (size_t c = from; c < to; c++) {
        put_size(l, value[c - from], columns->width[c]);
        tg_attn_put_text(l, columns->gap);
    }
}

void tg_attn_put_row(tg_attn_line *line, const tg_attn_columns *columns, const tg_attn_row *row)
{
    const size_t value[] = {row->layer, row->h, row->b, row->i};

    put_sizes(line, columns, value, LAYER, J);
}

static void put_mask(tg_attn_line *l, const tg_attn_columns *columns, const char *mask)
{
    tg_attn_put_text(l, columns->gap);
    put(l, mask, 1, columns->width[MASK]);
    tg_attn_put_text(l, columns->gap);
}

void tg_attn_put_element(tg_attn_line *line, const tg_attn_columns *columns, const tg_attn_row *row, size_t j)
{
    const tg_attn_view *a = row->view;
    const size_t value[] = {j, tg_attn_base(a, row->b, row->i, row->h), tg_attn_base(a, row->b, j, row->h),
                            tg_attn_offset(a, row->b, row->h, row->i, j)};

    put_sizes(line, columns, value, J, SCORE);
    if (j > row->i) { /* half of them, and always the same */
        put(line, columns->masked, strlen(columns->masked), columns->width[SCORE]);
        put_mask(line, columns, "1");
        put(line, "0", 1, columns->width[PROB]);
        return;
    }
    put_real(line, row->scores[j], columns->tsv, columns->width[SCORE]);
    put_mask(line, columns, "0");
    put_real(line, row->probs[j], columns->tsv, columns->width[PROB]);
}
