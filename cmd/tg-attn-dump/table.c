#include "cmd/tg-attn-dump/table.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

/* ---- words */

void table_put_word(table_text *to, const char *word)
{
    table_put(to, word, strlen(word));
}

void table_put_spaces(table_text *to, size_t n)
{
    memset(to->text + to->n, ' ', n);
    to->n += n;
}

static void put_right(table_text *to, const char *text, size_t n, size_t width)
{
    table_put_spaces(to, width > n ? width - n : 0);
    table_put(to, text, n);
}

/* ---- values */

/* These two are the inner loop of lines in memory.  Writing through a local pointer, which no store can
 * alias, makes them 5 % faster. */
static inline char *write_size(char *at, size_t value, size_t width)
{
    if (width > 0) {
        const size_t n = tg_decimal_digits(value);

        memset(at, ' ', width > n ? width - n : 0);
        at += width > n ? width - n : 0;
    }
    return tg_decimal_size(at, value);
}

static inline char *write_float(char *at, double value, table_format format, size_t width)
{
    char text[TG_DECIMAL_SIZE];
    size_t n;

    if (format != TABLE_TEXT)
        return tg_decimal_float(at, (float)value);
    n = (size_t)(tg_decimal_fixed(text, value) - text);
    memset(at, ' ', width > n ? width - n : 0);
    at += width > n ? width - n : 0;
    memcpy(at, text, n);
    return at + n;
}

static void put_size(table_text *to, size_t value, size_t width)
{
    to->n = (size_t)(write_size(to->text + to->n, value, width) - to->text);
}

static void put_float(table_text *to, double value, table_format format, size_t width)
{
    to->n = (size_t)(write_float(to->text + to->n, value, format, width) - to->text);
}

static void put_double(table_text *to, double value, size_t width)
{
    char text[TG_DECIMAL_SIZE];

    put_right(to, text, (size_t)snprintf(text, sizeof text, "%.9g", value), width);
}

static void put_flag(table_text *to, bool value, table_format format, size_t width)
{
    if (format == TABLE_JSONL)
        table_put_word(to, value ? "true" : "false");
    else
        put_size(to, value, width);
}

/* Write a cell other than a TABLE_STRING's value. */
static void put_cell(table_text *to, const table *t, size_t c, const table_cell *cell)
{
    const table_column *column = &t->column[c];
    const size_t width = column->width;

    if (cell->kind == CELL_MISSING) {
        table_put_word(to, t->format == TABLE_JSONL ? "null" : "");
        return;
    }
    assert(cell->kind == CELL_WORD || column->type != TABLE_STRING);
    if (cell->kind == CELL_WORD) {
        put_right(to, cell->text, cell->n, width);
        return;
    }
    switch (column->type) {
    case TABLE_SIZE:
        put_size(to, cell->size, width);
        break;
    case TABLE_FLOAT:
        put_float(to, cell->real, t->format, width);
        break;
    case TABLE_DOUBLE:
        put_double(to, cell->real, width);
        break;
    case TABLE_FLAG:
        put_flag(to, cell->size != 0, t->format, width);
        break;
    case TABLE_STRING:
        break; /* excluded above */
    }
}

/* Write what precedes column c: a separator, and in JSON its name. */
static void put_before(table_text *to, const table *t, size_t c)
{
    if (t->format == TABLE_JSONL) {
        table_put_word(to, c == 0 ? "{\"" : ",\"");
        table_put_word(to, t->column[c].name);
        table_put_word(to, "\":");
    } else if (c > 0) {
        table_put(to, t->format == TABLE_TSV ? "\t" : " ", 1);
    }
}

void table_put_end(table_text *to, table_format format)
{
    table_put_word(to, format == TABLE_JSONL ? "}\n" : "\n");
}

/* ---- titles */

void table_put_titles(table_text *to, const table *t)
{
    for (size_t c = 0; c < t->n && t->format != TABLE_JSONL; c++) {
        const table_column *column = &t->column[c];
        const char *title = t->format == TABLE_TSV ? column->name : column->title;
        const bool comment = c == 0 && t->format == TABLE_TEXT; /* a comment, like the header above it */

        put_before(to, t, c);
        table_put(to, "#", comment);
        put_right(to, title, strlen(title), column->width - comment);
    }
}

void table_print_titles(const table *t)
{
    char buffer[TABLE_COLUMNS_MAX * 64];
    table_text to = {buffer, 0};

    table_put_titles(&to, t);
    if (t->format != TABLE_JSONL)
        table_put(&to, "\n", 1);
    fwrite(buffer, 1, to.n, stdout);
}

/* ---- lines on standard output */

static void print_string(const table *t, const char *text, size_t n)
{
    const bool json = t->format == TABLE_JSONL, tsv = t->format == TABLE_TSV;

    fputs(json ? "\"" : "", stdout);
    for (size_t i = 0; i < n; i++) {
        char escaped[TG_JSON_ESCAPE_MAX + 1];

        if (json)
            fwrite(escaped, 1, tg_json_escape(escaped, (unsigned char)text[i], ""), stdout);
        else if (tsv)
            fwrite(escaped, 1, tg_label_field(escaped, &text[i], 1), stdout);
        else
            putchar(text[i]);
    }
    fputs(json ? "\"" : "", stdout);
}

void table_print_line(const table *t, const table_cell *cells)
{
    for (size_t c = 0; c < t->n; c++) {
        const bool string = t->column[c].type == TABLE_STRING && cells[c].kind == CELL_VALUE;
        char buffer[64 + 2 * TG_DECIMAL_SIZE];
        table_text to = {buffer, 0};

        put_before(&to, t, c);
        if (!string)
            put_cell(&to, t, c, &cells[c]);
        fwrite(buffer, 1, to.n, stdout);
        if (string)
            print_string(t, cells[c].text, cells[c].n);
    }
    puts(t->format == TABLE_JSONL ? "}" : "");
}

/* ---- lines in memory */

size_t table_capacity(const table *t, size_t lines, size_t more)
{
    size_t line = more + strlen("{}\n"), n;

    for (size_t c = 0; c < t->n; c++) {
        const table_column *column = &t->column[c];

        line += tg_size_max(column->width, column->max) + strlen(column->name) + strlen(",\"\":");
    }
    return tg_size_mul(&n, lines, line) && tg_size_add(&n, n, TABLE_SLACK) ? n : SIZE_MAX;
}

void table_make_plan(table_plan *plan, const table *t, const table_cell *cells, unsigned varying, bool more)
{
    table_piece *p = plan->piece;
    table_text text = {plan->text, 0};
    size_t begin = 0;

    plan->format = t->format;
    for (size_t c = 0; c < t->n; c++) {
        const table_column *column = &t->column[c];

        put_before(&text, t, c);
        if (!(varying >> c & 1)) {
            put_cell(&text, t, c, &cells[c]);
            continue;
        }
        assert(column->type == TABLE_SIZE || column->type == TABLE_FLOAT);
        *p++ = (table_piece){c, column->type, column->width, plan->text + begin, text.n - begin};
        begin = text.n;
    }
    if (!more)
        table_put_end(&text, t->format);
    *p = (table_piece){TABLE_COLUMNS_MAX, TABLE_SIZE, 0, plan->text + begin, text.n - begin};
}

void table_put_line(table_text *to, const table_plan *plan, const table_cell *cells)
{
    char *at = to->text + to->n;
    const table_piece *p = plan->piece;

    for (;; p++) {
        for (size_t n = 0; n < p->n; n += TABLE_STEP)
            memcpy(at + n, p->before + n, TABLE_STEP);
        at += p->n;
        if (p->column == TABLE_COLUMNS_MAX)
            break;
        at = p->type == TABLE_SIZE ? write_size(at, cells[p->column].size, p->width)
                                   : write_float(at, cells[p->column].real, plan->format, p->width);
    }
    to->n = (size_t)(at - to->text);
}
