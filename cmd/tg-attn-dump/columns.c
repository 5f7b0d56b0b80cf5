#include "cmd/tg-attn-dump/columns.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

/* The widest number, which sets capacities, and the widest usual one, to which columns are aligned. */
#define WIDEST "-999999999.12345678"
#define USUAL "-10.00000000"

/* Titles are short where GPT-2's lines would otherwise exceed 80 columns. */
static const table_column kinds[COLUMN_KINDS] = {
    [COLUMN_LAYER] = {"layer", "l", TABLE_SIZE, 0, 0},
    [COLUMN_HEAD] = {"head", "h", TABLE_SIZE, 0, 0},
    [COLUMN_B] = {"b", "b", TABLE_SIZE, 0, 0},
    [COLUMN_I] = {"i", "i", TABLE_SIZE, 0, 0},
    [COLUMN_J] = {"j", "j", TABLE_SIZE, 0, 0},
    [COLUMN_T] = {"t", "t", TABLE_SIZE, 0, 0},
    [COLUMN_D] = {"d", "d", TABLE_SIZE, 0, 0},
    [COLUMN_C] = {"c", "c", TABLE_SIZE, 0, 0},
    [COLUMN_Q_BASE] = {"q_base", "q_base", TABLE_SIZE, 0, 0},
    [COLUMN_K_BASE] = {"k_base", "k_base", TABLE_SIZE, 0, 0},
    [COLUMN_OFFSET] = {"offset", "offset", TABLE_SIZE, 0, 0},
    [COLUMN_MASK] = {"masked", "mask", TABLE_FLAG, 0, sizeof "false" - 1},
    [COLUMN_SCORE] = {"score", "score", TABLE_FLOAT, 0, sizeof WIDEST - 1},
    [COLUMN_PROB] = {"prob", "prob", TABLE_FLOAT, 0, sizeof WIDEST - 1},
    [COLUMN_VALUE] = {"value", "value", TABLE_FLOAT, 0, sizeof WIDEST - 1},
};

#define END COLUMN_KINDS

/* The columns of each stage's lines, after the layer. */
static const unsigned char of_channels[] = {COLUMN_B, COLUMN_T, COLUMN_C, COLUMN_OFFSET, COLUMN_VALUE, END};
static const unsigned char of_heads[] = {COLUMN_HEAD,   COLUMN_B,     COLUMN_T, COLUMN_D,
                                         COLUMN_OFFSET, COLUMN_VALUE, END};
static const unsigned char of_scores[] = {
    COLUMN_HEAD,   COLUMN_B,      COLUMN_I,     COLUMN_J,    COLUMN_Q_BASE,
    COLUMN_K_BASE, COLUMN_OFFSET, COLUMN_SCORE, COLUMN_MASK, END};
static const unsigned char of_probs[] = {COLUMN_HEAD,   COLUMN_B,    COLUMN_I, COLUMN_J,
                                         COLUMN_OFFSET, COLUMN_PROB, END};
static const unsigned char of_both[] = {
    COLUMN_HEAD,  COLUMN_B,    COLUMN_I,    COLUMN_J, COLUMN_Q_BASE, COLUMN_K_BASE, COLUMN_OFFSET,
    COLUMN_SCORE, COLUMN_MASK, COLUMN_PROB, END};
static const unsigned char *const shown[TG_ATTN_EVERY + 1] = {
    [TG_ATTN_X] = of_channels,  [TG_ATTN_QKV] = of_channels, [TG_ATTN_Q] = of_heads,
    [TG_ATTN_K] = of_heads,     [TG_ATTN_V] = of_heads,      [TG_ATTN_SCORES] = of_scores,
    [TG_ATTN_PROBS] = of_probs, [TG_ATTN_ATT] = of_heads,    [TG_ATTN_OUT] = of_channels,
    [TG_ATTN_EVERY] = of_both,
};

/* ---- columns */

/* Set each column's max to the digits of its greatest index or offset. */
static void set_digits(columns *c, const columns_of *of)
{
    const tg_qkv_view *a = &of->view;
    const size_t base = tg_attn_base(a, a->B - 1, a->T - 1, a->H - 1);
    size_t greatest[COLUMN_MASK] = {
        [COLUMN_LAYER] = of->L - 1, [COLUMN_HEAD] = a->H - 1, [COLUMN_B] = a->B - 1,  [COLUMN_I] = a->T - 1,
        [COLUMN_J] = a->T - 1,      [COLUMN_T] = a->T - 1,    [COLUMN_Q_BASE] = base, [COLUMN_K_BASE] = base,
    };
    tg_attn_shape s;

    tg_attn_stage_shape(&s, of->stage == TG_ATTN_EVERY ? TG_ATTN_SCORES : of->stage, a);
    greatest[COLUMN_D] = greatest[COLUMN_C] = s.size[s.n - 1] - 1;
    greatest[COLUMN_OFFSET] = tg_attn_shape_count(&s) - 1;
    for (size_t kind = 0; kind < COLUMN_MASK; kind++)
        if (c->at[kind] < c->table.n)
            c->table.column[c->at[kind]].max = tg_decimal_digits(greatest[kind]);
}

/* Wide enough for the title and for the usual number, or a masked score. */
static size_t width_of(const columns *c, size_t kind)
{
    const table_column *column = &c->table.column[c->at[kind]];
    const size_t title = strlen(column->title) + (kind == COLUMN_LAYER); /* "#l" */

    switch (kind) {
    case COLUMN_PROB:
        return strlen("0.00000000");
    case COLUMN_SCORE:
        return tg_size_max(strlen(USUAL), strlen(c->masked));
    case COLUMN_VALUE:
        return strlen(USUAL);
    case COLUMN_MASK:
        return title;
    default:
        return tg_size_max(title, column->max);
    }
}

static void set_masked(columns *c, tg_attn_mask mask)
{
    const float value = tg_attn_mask_value(mask);

    if (c->table.format == TABLE_JSONL && !isfinite(value))
        snprintf(c->masked, sizeof c->masked, "null"); /* JSON has no infinity */
    else
        snprintf(c->masked, sizeof c->masked, "%.9g", (double)value);
}

static void add_column(columns *c, size_t kind)
{
    c->at[kind] = c->table.n;
    c->table.column[c->table.n++] = kinds[kind];
}

void columns_set(columns *c, const columns_of *of)
{
    *c = (columns){.table.format = of->format,
                   .square = of->stage == TG_ATTN_EVERY || tg_attn_stage_square(of->stage)};
    for (size_t kind = 0; kind < COLUMN_KINDS; kind++)
        c->at[kind] = TABLE_COLUMNS_MAX;
    add_column(c, COLUMN_LAYER);
    for (const unsigned char *kind = shown[of->stage]; *kind != END; kind++)
        add_column(c, *kind);
    set_masked(c, of->mask);
    set_digits(c, of);
    c->labels = of->labels;
    if (of->format != TABLE_TEXT)
        return;
    for (size_t kind = 0; kind < COLUMN_KINDS; kind++)
        if (c->at[kind] < c->table.n)
            c->table.column[c->at[kind]].width = width_of(c, kind);
}

void columns_label_title(char *out, const token_labels *l, bool two)
{
    const int id = (int)l->id_width, width = (int)(l->width - l->id_width);

    if (!l->text)
        *out = '\0';
    else if (id == 0)
        snprintf(out, COLUMNS_LABEL_TITLE, two ? " tokens i,j" : " token");
    else if (two)
        snprintf(out, COLUMNS_LABEL_TITLE, " %*s%-*s %*s token j", id, "id", width, " token i", id, "id");
    else
        snprintf(out, COLUMNS_LABEL_TITLE, " %*s token", id, "id");
}

size_t columns_label_padding(const token_labels *l, const char *label)
{
    return l->width + 1 - tg_label_width(label);
}

size_t columns_capacity(const columns *c, size_t lines)
{
    return table_capacity(&c->table, lines, 2 * c->labels.size + c->labels.width + COLUMNS_LABEL_TITLE);
}

void columns_put_titles(table_text *to, const columns *c)
{
    char title[COLUMNS_LABEL_TITLE];

    if (c->table.format == TABLE_JSONL)
        return;
    table_put_titles(to, &c->table);
    if (c->table.format == TABLE_TEXT)
        columns_label_title(title, &c->labels, c->square);
    else
        snprintf(title, sizeof title, "%s",
                 !c->labels.text ? ""
                 : c->square     ? "\ttoken_i\ttoken_j"
                                 : "\ttoken");
    table_put_word(to, title);
    table_put(to, "\n", 1);
}

void columns_print_titles(const columns *c)
{
    char buffer[1024];
    table_text titles = {buffer, 0};

    columns_put_titles(&titles, c);
    fwrite(buffer, 1, titles.n, stdout);
}

/* ---- lines */

/* One cell more than a table has columns: kinds without a column write there. */
typedef table_cell cells[TABLE_COLUMNS_MAX + 1];

/* The columns of these kinds as a bit set, for table_make_plan(). */
static unsigned bits_of(const columns *c, const unsigned char *of)
{
    unsigned bits = 0;

    for (; *of != END; of++)
        bits |= c->at[*of] < c->table.n ? 1u << c->at[*of] : 0;
    return bits;
}

static void set_size(table_cell *cell, const columns *c, size_t kind, size_t value)
{
    cell[c->at[kind]] = (table_cell){.size = value};
}

static void set_word(table_cell *cell, const columns *c, size_t kind, const char *word)
{
    cell[c->at[kind]] = (table_cell){.kind = CELL_WORD, .text = word, .n = strlen(word)};
}

/* Write what is before a token's text: a space; in TSV a tab; in JSON its name. */
static void put_before_label(table_text *to, const columns *c, const char *name)
{
    if (c->table.format != TABLE_JSONL) {
        table_put(to, c->table.format == TABLE_TSV ? "\t" : " ", 1);
        return;
    }
    table_put_word(to, ",\"");
    table_put_word(to, name);
    table_put_word(to, "\":");
}

/* Write one token, or two; aligned, the first is padded.  Then the line's end. */
static void put_labels(table_text *to, const columns *c, size_t i, const size_t *j)
{
    const token_labels *l = &c->labels;
    const char *label = l->text + i * l->size;

    put_before_label(to, c, j ? "token_i" : "token");
    table_put_word(to, label);
    if (j) {
        if (c->table.format == TABLE_TEXT)
            table_put_spaces(to, columns_label_padding(l, label) - 1);
        put_before_label(to, c, "token_j");
        table_put_word(to, l->text + *j * l->size);
    }
    table_put_end(to, c->table.format);
}

/* Plan the lines of keys up to the query, and those of masked keys, whose score and probability are
 * constant. */
static void plan_row(table_plan *seen, table_plan *masked, table_cell *cell, const columns *c)
{
    static const unsigned char places[] = {COLUMN_J, COLUMN_K_BASE, COLUMN_OFFSET, END};
    static const unsigned char reals[] = {COLUMN_SCORE, COLUMN_PROB, END};

    table_make_plan(seen, &c->table, cell, bits_of(c, places) | bits_of(c, reals), c->labels.text);
    set_size(cell, c, COLUMN_MASK, 1);
    set_word(cell, c, COLUMN_SCORE, c->masked);
    set_word(cell, c, COLUMN_PROB, "0");
    table_make_plan(masked, &c->table, cell, bits_of(c, places), c->labels.text);
}

void columns_put_row(table_text *to, const columns *c, const tg_attn_row *row)
{
    const tg_qkv_view *a = row->view;
    table_plan seen = {0}, masked = {0};
    cells cell = {0};
    table_cell *j_cell = &cell[c->at[COLUMN_J]], *base = &cell[c->at[COLUMN_K_BASE]];
    table_cell *offset = &cell[c->at[COLUMN_OFFSET]];
    table_cell *score = &cell[c->at[COLUMN_SCORE]], *prob = &cell[c->at[COLUMN_PROB]];

    set_size(cell, c, COLUMN_LAYER, row->layer);
    set_size(cell, c, COLUMN_HEAD, row->h);
    set_size(cell, c, COLUMN_B, row->b);
    set_size(cell, c, COLUMN_I, row->i);
    set_size(cell, c, COLUMN_Q_BASE, tg_attn_base(a, row->b, row->i, row->h));
    plan_row(&seen, &masked, cell, c);
    for (size_t j = row->j_begin; j < row->j_end; j++) {
        j_cell->size = j;
        base->size = tg_attn_base(a, row->b, j, row->h);
        offset->size = tg_attn_offset(a, row->b, row->h, row->i, j);
        score->real = row->scores[j];
        prob->real = row->probs[j];
        table_put_line(to, j <= row->i ? &seen : &masked, cell);
        if (c->labels.text)
            put_labels(to, c, row->i, &j);
    }
}

void columns_put_run(table_text *to, const columns *c, const value_run *run)
{
    static const unsigned char varying[] = {COLUMN_D, COLUMN_C, COLUMN_OFFSET, COLUMN_VALUE, END};
    table_plan plan = {0};
    cells cell = {0};

    set_size(cell, c, COLUMN_LAYER, run->layer);
    set_size(cell, c, COLUMN_HEAD, run->h);
    set_size(cell, c, COLUMN_B, run->b);
    set_size(cell, c, COLUMN_T, run->t);
    table_make_plan(&plan, &c->table, cell, bits_of(c, varying), c->labels.text);
    for (size_t n = 0; n < run->n; n++) {
        set_size(cell, c, COLUMN_D, n);
        set_size(cell, c, COLUMN_C, n);
        set_size(cell, c, COLUMN_OFFSET, run->offset + n);
        cell[c->at[COLUMN_VALUE]].real = run->values[n];
        table_put_line(to, &plan, cell);
        if (c->labels.text)
            put_labels(to, c, run->t, NULL);
    }
}
