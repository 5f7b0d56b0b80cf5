/*
 * table: lines of named values: aligned columns for the eye, tab-separated values, or a JSON object per
 * line.
 *
 * Long output is made in memory, by several threads at once.  The constant parts of its lines are
 * formatted once (table_plan), so that a line costs little more than the digits that change.  Single
 * lines go straight to standard output (table_print_line).
 */
#ifndef TG_CMD_LINES_TABLE_H
#define TG_CMD_LINES_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/decimal.h"

typedef enum table_format { TABLE_TEXT, TABLE_TSV, TABLE_JSONL } table_format;
#define TABLE_FORMATS "text|tsv|jsonl"

#define TABLE_COLUMNS_MAX 18

typedef enum table_type {
    TABLE_SIZE,   /* a whole number */
    TABLE_FLOAT,  /* rounded to float32; nine digits, which restore every bit; in text, eight decimals */
    TABLE_DOUBLE, /* finite; nine digits; in text, the column's decimals */
    TABLE_FLAG,   /* 1 or 0; in JSON true or false */
    TABLE_STRING  /* printable (see cli_escape); quoted in JSON */
} table_type;

typedef struct table_column {
    const char *name;  /* in TSV and JSON */
    const char *title; /* in text; NULL: the one before it is the title of both */
    table_type type;
    size_t width; /* in text: numbers are right-aligned to this many columns */
    size_t max;   /* of lines in memory: the bytes of the longest value */
    int decimals; /* of a TABLE_DOUBLE in text */
} table_column;

typedef struct table {
    table_format format;
    size_t n;
    unsigned hidden; /* the columns that are left out, as bits 1 << column; not the first */
    table_column column[TABLE_COLUMNS_MAX];
} table;

/* A value by its column's type: size for TABLE_SIZE and TABLE_FLAG, real, or text. */
typedef struct table_cell {
    /* CELL_WORD: text, written as it is; CELL_MISSING: empty, in JSON null, in text "-" */
    enum { CELL_VALUE, CELL_WORD, CELL_MISSING } kind;
    union {
        size_t size;
        double real;
        const char *text;
    };
} table_cell;

/* ---- to standard output */

void table_print_titles(const table *t); /* JSON has none */
void table_print_line(const table *t, const table_cell *cells);

/* ---- in memory */

/* Text being written; it is not NUL-terminated. */
typedef struct table_text {
    char *text; /* of the size that table_capacity() returns */
    size_t n;
} table_text;

/* Text is copied in fixed steps, which is faster than exact lengths.  Every text has slack at its end
 * for the overshoot. */
#define TABLE_STEP 16
#define TABLE_SLACK 64

/* The bytes that `lines` lines need, titles included; SIZE_MAX if that overflows. */
size_t table_capacity(const table *t, size_t lines);

void table_put_titles(table_text *to, const table *t); /* JSON has none */

/* A column whose value changes, and the constant text before it. */
typedef struct table_piece {
    size_t column; /* TABLE_COLUMNS_MAX: none; the piece is the end of the line */
    table_type type;
    size_t width;
    const char *before;
    size_t n;
} table_piece;

typedef struct table_plan {
    table_format format;
    table_piece piece[TABLE_COLUMNS_MAX + 1];
    char text[TABLE_COLUMNS_MAX * (TG_DECIMAL_SIZE + 12) + TABLE_STEP];
} table_plan;

/* Plan lines in which the columns in `varying`, a set of bits 1 << column, change; they must be
 * TABLE_SIZE or TABLE_FLOAT, or TABLE_STRING with cells of CELL_WORD.  The other values come from `cells`
 * now, and none of them may be a TABLE_STRING. */
void table_make_plan(table_plan *plan, const table *t, const table_cell *cells, unsigned varying);

/* Write a line as planned.  Only the varying cells are read. */
void table_put_line(table_text *to, const table_plan *plan, const table_cell *cells);

#endif
