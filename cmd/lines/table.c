#include "cmd/lines/table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "lib/base/size.h"

static bool is_hidden(const table *t, size_t c)
{
    return t->hidden >> c & 1;
}

static size_t width_of(const table *t, size_t c)
{
    return t->format == TABLE_TEXT ? t->column[c].width : 0;
}

/* ---- words */

static void put(table_text *to, const char *text, size_t n)
{
    memcpy(to->text + to->n, text, n);
    to->n += n;
}

static void put_word(table_text *to, const char *word)
{
    put(to, word, strlen(word));
}

/* Write the spaces that right-align n bytes to `width`. */
static inline char *pad(char *at, size_t n, size_t width)
{
    const size_t spaces = width > n ? width - n : 0;

    memset(at, ' ', spaces);
    return at + spaces;
}

static void put_right(table_text *to, const char *text, size_t width)
{
    to->n = (size_t)(pad(to->text + to->n, strlen(text), width) - to->text);
    put_word(to, text);
}

/* ---- values */

/* These two are the inner loop of lines in memory.  Writing through a local pointer, which no store can
 * alias, makes them 5 % faster. */
static inline char *write_size(char *at, size_t value, size_t width)
{
    if (width > 0)
        at = pad(at, tg_decimal_digits(value), width);
    return tg_decimal_size(at, value);
}

static inline char *write_float(char *at, double value, table_format format, size_t width)
{
    char text[TG_DECIMAL_SIZE];
    size_t n;

    if (format != TABLE_TEXT)
        return tg_decimal_float(at, (float)value);
    n = (size_t)(tg_decimal_fixed(text, value) - text);
    at = pad(at, n, width);
    memcpy(at, text, n);
    return at + n;
}

/* Write a cell other than a TABLE_STRING's value. */
static void put_cell(table_text *to, const table *t, size_t c, const table_cell *cell)
{
    const table_column *column = &t->column[c];
    const size_t width = width_of(t, c);
    const bool text = t->format == TABLE_TEXT, json = t->format == TABLE_JSONL;
    char *at = to->text + to->n, number[TG_DECIMAL_SIZE];

    assert(cell->kind != CELL_VALUE || column->type != TABLE_STRING);
    if (cell->kind == CELL_MISSING)
        put_right(to, text ? "-" : json ? "null" : "", width);
    else if (cell->kind == CELL_WORD)
        put_right(to, cell->text, width);
    else if (column->type == TABLE_FLAG && json)
        put_word(to, cell->size != 0 ? "true" : "false");
    else if (column->type == TABLE_FLOAT)
        to->n = (size_t)(write_float(at, cell->real, t->format, width) - to->text);
    else if (column->type != TABLE_DOUBLE)
        to->n = (size_t)(write_size(at, cell->size, width) - to->text);
    else {
        snprintf(number, sizeof number, text ? "%.*f" : "%.*g", text ? column->decimals : 9, cell->real);
        put_right(to, number, width);
    }
}

/* Write what precedes column c: a separator, and in JSON its name. */
static void put_before(table_text *to, const table *t, size_t c)
{
    if (t->format == TABLE_JSONL) {
        put_word(to, c == 0 ? "{\"" : ",\"");
        put_word(to, t->column[c].name);
        put_word(to, "\":");
    } else if (c > 0) {
        put(to, t->format == TABLE_TSV ? "\t" : " ", 1);
    }
}

/* ---- titles */

void table_put_titles(table_text *to, const table *t)
{
    if (t->format == TABLE_JSONL)
        return;
    for (size_t c = 0; c < t->n; c++) {
        const table_column *column = &t->column[c];
        const char *title = t->format == TABLE_TSV ? column->name : column->title;
        const bool comment = c == 0 && t->format == TABLE_TEXT; /* a comment, like the header above it */

        if (is_hidden(t, c) || !title)
            continue;
        put_before(to, t, c);
        put(to, "#", comment);
        put_right(to, title, width_of(t, c) - comment);
    }
    put(to, "\n", 1);
}

void table_print_titles(const table *t)
{
    char buffer[TABLE_COLUMNS_MAX * 64];
    table_text to = {buffer, 0};

    table_put_titles(&to, t);
    fwrite(buffer, 1, to.n, stdout);
}

/* ---- lines on standard output */

static void print_string(table_format format, const table_cell *cell)
{
    if (cell->kind == CELL_WORD || format == TABLE_TEXT)
        fputs(cell->text, stdout);
    else if (format == TABLE_JSONL)
        cli_put_json(cell->text);
    else
        cli_put_field(cell->text);
}

void table_print_line(const table *t, const table_cell *cells)
{
    for (size_t c = 0; c < t->n; c++) {
        const bool string = t->column[c].type == TABLE_STRING && cells[c].kind != CELL_MISSING;
        char buffer[64 + 2 * TG_DECIMAL_SIZE];
        table_text to = {buffer, 0};

        if (is_hidden(t, c))
            continue;
        put_before(&to, t, c);
        if (!string)
            put_cell(&to, t, c, &cells[c]);
        fwrite(buffer, 1, to.n, stdout);
        if (string)
            print_string(t->format, &cells[c]);
    }
    puts(t->format == TABLE_JSONL ? "}" : "");
}

/* ---- lines in memory */

size_t table_capacity(const table *t, size_t lines)
{
    size_t line = strlen("{}\n"), n;

    for (size_t c = 0; c < t->n; c++) {
        const table_column *column = &t->column[c];
        const size_t title = column->title ? strlen(column->title) : 0;

        line += tg_size_max(tg_size_max(column->width, column->max), title);
        line += strlen(column->name) + strlen(",\"\":");
    }
    return tg_size_mul(&n, lines, line) && tg_size_add(&n, n, TABLE_SLACK) ? n : SIZE_MAX;
}

void table_make_plan(table_plan *plan, const table *t, const table_cell *cells, unsigned varying)
{
    table_piece *p = plan->piece;
    table_text text = {plan->text, 0};
    size_t begin = 0;

    plan->format = t->format;
    for (size_t c = 0; c < t->n; c++) {
        const table_type type = t->column[c].type;

        if (is_hidden(t, c))
            continue;
        put_before(&text, t, c);
        if (!(varying >> c & 1)) {
            put_cell(&text, t, c, &cells[c]);
            continue;
        }
        assert(type == TABLE_SIZE || type == TABLE_FLOAT || type == TABLE_STRING);
        *p++ = (table_piece){c, type, width_of(t, c), plan->text + begin, text.n - begin};
        begin = text.n;
    }
    put_word(&text, t->format == TABLE_JSONL ? "}\n" : "\n");
    *p = (table_piece){TABLE_COLUMNS_MAX, TABLE_SIZE, 0, plan->text + begin, text.n - begin};
}

void table_put_line(table_text *to, const table_plan *plan, const table_cell *cells)
{
    char *at = to->text + to->n;

    for (const table_piece *p = plan->piece;; p++) {
        const table_cell *cell;

        for (size_t n = 0; n < p->n; n += TABLE_STEP)
            memcpy(at + n, p->before + n, TABLE_STEP);
        at += p->n;
        if (p->column == TABLE_COLUMNS_MAX)
            break;
        cell = &cells[p->column];
        if (p->type == TABLE_SIZE)
            at = write_size(at, cell->size, p->width);
        else if (p->type == TABLE_FLOAT)
            at = write_float(at, cell->real, plan->format, p->width);
        else
            at = stpcpy(at, cell->text);
    }
    to->n = (size_t)(at - to->text);
}
