/*
 * The losses of runs, drawn in a terminal.
 *
 * One run is a line of braille dots, 2 by 4 in a cell, or of '*' without UTF-8, and its validation losses are
 * 'o'.  Of several runs, each has a letter: capitals for the losses, small ones for validation; colours only
 * help.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

#define COLUMNS_MAX 120
#define ROWS_MAX 40
#define MARGIN 8     /* columns of the numbers at the left, with a space */
#define SEVERAL '+'  /* where several runs meet */
#define TICK_WIDTH 5 /* columns for a number below, and between it and the next */

struct cell {
    char mark;          /* 0: none */
    unsigned char run;  /* of the mark */
    unsigned char dots; /* of braille */
};

struct plot {
    struct cell cell[ROWS_MAX][COLUMNS_MAX];
    size_t rows, columns;
    bool utf8, color, alone;
    tg_axis x, y;
};

/* ---- drawing into cells */

static void put_mark(struct plot *p, size_t row, size_t column, char mark, size_t run)
{
    struct cell *c = &p->cell[row][column];

    if (c->mark && c->run != run)
        mark = SEVERAL;
    c->mark = mark;
    c->run = (unsigned char)run;
}

/* The row of `rows` that shows this loss, from the top. */
static size_t row_of(const struct plot *p, double loss, size_t rows)
{
    return rows - 1 - tg_size_min((size_t)(tg_axis_place(&p->y, loss) * (double)rows), rows - 1);
}

static size_t column_of(const struct plot *p, double step, size_t columns)
{
    return tg_size_min((size_t)(tg_axis_place(&p->x, step) * (double)columns), columns - 1);
}

/* The dot at a place among twice the columns and four times the rows. */
static void put_dot(struct plot *p, size_t y, size_t x)
{
    static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};

    p->cell[y / 4][x / 2].dots |= bits[y % 4][x % 2];
}

/* A column's part of a line that comes from the row `before`. */
static void put_line(struct plot *p, size_t before, size_t y, size_t x)
{
    put_dot(p, y, x);
    for (size_t i = before; i + 1 < y; i++)
        put_dot(p, i + 1, x);
    for (size_t i = before; i > y + 1; i--)
        put_dot(p, i - 1, x);
}

/* The row of each column from the first point to the last, on straight lines between the points. */
static void draw_curve(struct plot *p, const info_curve *curve, size_t run)
{
    const size_t fine = p->alone && p->utf8 ? 2 : 1, columns = fine * p->columns;
    const size_t rows = (fine == 2 ? 4 : 1) * p->rows;
    double step[2 * COLUMNS_MAX], loss[2 * COLUMNS_MAX];
    const size_t n = info_curve_thin(step, loss, columns, &p->x, curve);
    size_t before = rows;

    for (size_t i = 0; i < n; i++) {
        const size_t from = column_of(p, step[i], columns);
        const size_t to = i + 1 < n ? column_of(p, step[i + 1], columns) : from + 1;

        for (size_t c = from; c < to; c++) {
            const double part = (double)(c - from) / (double)(to - from);
            const size_t row =
                row_of(p, i + 1 < n ? loss[i] * (1 - part) + loss[i + 1] * part : loss[i], rows);

            if (fine == 2)
                put_line(p, before < rows ? before : row, row, c);
            else
                put_mark(p, row, c, (char)(p->alone ? '*' : 'A' + (int)run), run);
            before = row;
        }
    }
}

/* Validation losses, only where they were measured. */
static void draw_points(struct plot *p, const info_curve *curve, size_t run)
{
    double step[COLUMNS_MAX], loss[COLUMNS_MAX];
    const size_t n = info_curve_thin(step, loss, p->columns, &p->x, curve);

    for (size_t i = 0; i < n; i++)
        put_mark(p, row_of(p, loss[i], p->rows), column_of(p, step[i], p->columns),
                 (char)(p->alone ? 'o' : 'a' + (int)run), run);
}

/* ---- printing */

static void print_dots(unsigned char dots)
{
    char braille[TG_UTF8_MAX];
    const size_t n = tg_utf8_encode(braille, 0x2800u + dots);

    fwrite(braille, 1, n, stdout);
}

/* The colour of a cell's letter; 0: the terminal's own. */
static int color_of(const struct plot *p, const struct cell *c)
{
    static const int colors[] = {34, 31, 32, 35, 36, 33};

    if (!p->color || p->alone || !c->mark || c->mark == SEVERAL)
        return 0;
    return colors[c->run % (sizeof colors / sizeof colors[0])];
}

static void print_cells(const struct plot *p, const struct cell *cell, size_t n)
{
    int color = 0;

    for (size_t i = 0; i < n; i++) {
        const int next = color_of(p, &cell[i]);

        if (next != color)
            printf("\033[%dm", next);
        color = next;
        if (cell[i].mark)
            putchar(cell[i].mark);
        else if (cell[i].dots)
            print_dots(cell[i].dots);
        else
            putchar(' ');
    }
    if (color != 0)
        fputs("\033[0m", stdout);
}

/* The number next to a row: that of a tick in it. */
static bool tick_text(char text[TG_AXIS_TEXT], const struct plot *p, size_t row)
{
    for (size_t i = 0; i < p->y.n; i++) {
        if (row_of(p, p->y.tick[i], p->rows) != row)
            continue;
        tg_axis_text(text, &p->y, p->y.tick[i]);
        return true;
    }
    return false;
}

static void print_row(const struct plot *p, size_t row)
{
    char text[TG_AXIS_TEXT] = "";
    const bool tick = tick_text(text, p, row);
    size_t end = p->columns;

    printf("%*.*s ", MARGIN - 1, MARGIN - 1, text);
    if (p->utf8)
        fputs(tick ? "\u2524" : "\u2502", stdout);
    else
        putchar(tick ? '+' : '|');
    while (end > 0 && !p->cell[row][end - 1].mark && !p->cell[row][end - 1].dots)
        end--;
    print_cells(p, p->cell[row], end);
    putchar('\n');
}

static bool has_tick(const struct plot *p, size_t column)
{
    for (size_t i = 0; i < p->x.n; i++)
        if (column_of(p, p->x.tick[i], p->columns) == column)
            return true;
    return false;
}

/* The axis below, then its numbers, those left out that have no room. */
static void print_bottom(const struct plot *p)
{
    size_t used = 0;

    printf("%*s%s", MARGIN, "", p->utf8 ? "\u2514" : "+");
    for (size_t c = 0; c < p->columns; c++) {
        if (p->utf8)
            fputs(has_tick(p, c) ? "\u252C" : "\u2500", stdout);
        else
            putchar(has_tick(p, c) ? '+' : '-');
    }
    printf("\n%*s ", MARGIN, p->x.log ? "log step" : "step");
    for (size_t i = 0; i < p->x.n; i++) {
        char text[TG_AXIS_TEXT];
        const size_t at = column_of(p, p->x.tick[i], p->columns);
        size_t from;

        tg_axis_text(text, &p->x, p->x.tick[i]);
        from = at > strlen(text) / 2 ? at - strlen(text) / 2 : 0;
        from = tg_size_min(from, p->columns - tg_size_min(strlen(text), p->columns));
        if (used > 0 && from < used + 1)
            continue;
        printf("%*s%s", (int)(from - used), "", text);
        used = from + strlen(text);
    }
    putchar('\n');
}

static void print_legend(const struct plot *p, const info_runs *runs)
{
    const bool val = runs->any_val;

    if (p->alone && !val && !p->y.log)
        return;
    if (p->alone)
        printf("%-12s%s training%s", "plot", p->utf8 ? "line" : "*", val ? ", o validation" : "");
    else
        printf("losses: A training%s, %c several", val ? ", a validation" : "", SEVERAL);
    printf("%s\n", info_scales(&p->x, &p->y));
}

tg_status info_show_plot(const info_runs *runs, size_t rows, tg_err *err)
{
    struct plot *p = calloc(1, sizeof *p);

    if (!p)
        return tg_fail_memory(err, sizeof *p, "a plot");
    p->rows = tg_size_min(rows, ROWS_MAX);
    p->columns = tg_size_min(info_width() - MARGIN - 2, COLUMNS_MAX);
    p->utf8 = info_has_utf8();
    p->color = cli_takes_color(STDOUT_FILENO);
    p->alone = runs->n == 1;
    info_runs_axes(runs, &p->x, &p->y, tg_size_max(2, tg_size_min(p->columns / TICK_WIDTH, TG_AXIS_TICKS)),
                   tg_size_max(2, p->rows - 1));
    for (size_t i = 0; i < runs->n; i++)
        draw_curve(p, &runs->run[i].loss, i);
    for (size_t i = 0; i < runs->n; i++)
        draw_points(p, &runs->run[i].val_loss, i);
    print_legend(p, runs);
    for (size_t row = 0; row < p->rows; row++)
        print_row(p, row);
    print_bottom(p);
    free(p);
    return TG_OK;
}
