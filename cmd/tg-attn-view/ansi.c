/* view: heat maps in a terminal. */
#include "cmd/tg-attn-view/ansi.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define GAP 2      /* columns between maps on a sheet */
#define MAP_MIN 16 /* columns of a map on a sheet, if the terminal is wide enough */
#define MAP_MAX 48
#define LINES_DENSE 8 /* of a map on a sheet: of no more, each has its position */
#define CELL_MAX 14   /* columns of a number in a table, if its token needs them */

/* ---- cells */

/* Choose the layout of a map of up to `width` columns. */
static ansi_layout choose_layout(const struct ansi *a, size_t T, size_t width)
{
    ansi_layout l = {.n = 1, .columns = 2};

    width = tg_size_max(width, 2);
    if (a->color != VIEW_NEVER && a->utf8 && 2 * T > width)
        l = (ansi_layout){.n = tg_ceil_div(T, width), .columns = 1, .halves = true};
    else if (2 * T > width && T <= width)
        l.columns = 1; /* taller than wide, but shows every number */
    else
        l.n = tg_ceil_div(T, tg_size_max(width / 2, 1));
    l.side = tg_ceil_div(T, l.n);
    l.lines = l.halves ? tg_ceil_div(l.side, 2) : l.side;
    return l;
}

/* The colour of a cell; ANSI_NONE if it is masked or below the map. */
static unsigned cell_color(const struct ansi *a, const tg_grid *g, size_t i, size_t j)
{
    if (i >= g->side || !isfinite(g->cell[i * g->side + j]))
        return ANSI_NONE;
    return tg_colormap_step(tg_scale_place(&a->v->scale, (double)g->cell[i * g->side + j]));
}

static void put_halves(struct ansi *a, unsigned upper, unsigned lower)
{
    if (upper == ANSI_NONE) {
        ansi_colors(a, lower, ANSI_NONE);
        ansi_repeat(a, lower == ANSI_NONE ? " " : "▄", 1);
    } else {
        ansi_colors(a, upper, lower);
        ansi_repeat(a, "▀", 1);
    }
}

static void put_cell(struct ansi *a, const ansi_layout *l, const tg_grid *g, size_t i, size_t j)
{
    const float x = g->cell[i * g->side + j];
    char shade[2] = " ";

    ansi_colors(a, ANSI_NONE, cell_color(a, g, i, j));
    if (a->color == VIEW_NEVER && isfinite(x))
        shade[0] = ansi_shade(tg_scale_place(&a->v->scale, (double)x));
    ansi_repeat(a, shade, l->columns);
}

static void put_map_line(struct ansi *a, const ansi_layout *l, const tg_grid *g, size_t line)
{
    for (size_t j = 0; j < g->side; j++) {
        if (l->halves)
            put_halves(a, cell_color(a, g, 2 * line, j), cell_color(a, g, 2 * line + 1, j));
        else
            put_cell(a, l, g, line, j);
    }
    ansi_colors(a, ANSI_NONE, ANSI_NONE);
}

/* ---- words around the maps */

static void put_scale(struct ansi *a)
{
    ansi_put_scale(a, &a->v->scale, view_quantity(a->v));
}

static void put_cells_note(struct ansi *a, const ansi_layout *l)
{
    if (l->n > 1)
        ansi_put_words(a, "each cell: the greatest of %zu x %zu", l->n, l->n);
    ansi_put_words(a, "query down, key across; blank: masked");
}

/* ---- one map, with tokens along its sides */

/* The width of a number in a table. */
static size_t table_column(const view *v)
{
    const double low = fabs(v->scale.low), high = fabs(v->scale.high);
    const int n = snprintf(NULL, 0, "%.2f", -(low > high ? low : high));

    return v->show == TG_ATTN_PROBS ? 6 : (size_t)n + 2;
}

/* The keys' positions, their tokens if there are any, and ids that these do not tell. */
static void put_column_titles(struct ansi *a, size_t columns, size_t cell)
{
    static const char *const what[] = {"key", "", "id"};
    const size_t lines = !a->v->label ? 1 : a->v->id_width == 0 ? 2 : 3;
    char buffer[ANSI_TOKEN];

    for (size_t line = 0; line < lines; line++) {
        view_field(a->out, what[line], columns, a->more);
        for (size_t t = 0; t < a->v->dump->T; t++) {
            if (line == 1)
                (void)ansi_token(a, t, buffer);
            else
                snprintf(buffer, sizeof buffer, "%lld",
                         line == 0 ? (long long)t : (long long)a->v->dump->ids[t]);
            ansi_put_right(a, buffer, cell);
        }
        ansi_end_line(a);
    }
}

static void put_table(struct ansi *a, const tg_grid *g, const ansi_margin *m, const ansi_layout *l,
                      size_t cell)
{
    put_column_titles(a, m->columns, cell);
    for (size_t i = 0; i < g->side; i++) {
        ansi_put_query(a, m, l, i);
        for (size_t j = 0; j < g->side; j++)
            ansi_put_number(a, &a->v->scale, (double)g->cell[i * g->side + j], cell);
        ansi_end_line(a);
    }
}

static void put_large(struct ansi *a, const ansi_layout *l, const tg_grid *g, ansi_margin m)
{
    ansi_widen_margin(&m, a, l);
    ansi_put_keys(a, &m, l);
    for (size_t line = 0; line < l->lines; line++) {
        ansi_put_query(a, &m, l, line * l->n * (l->halves ? 2 : 1));
        put_map_line(a, l, g, line);
        ansi_end_line(a);
    }
}

/* Choose the layout, and the margin before it.  Each depends on the other; the loop ends because the
 * margin only grows. */
static ansi_margin choose_margin(const struct ansi *a, ansi_layout *l)
{
    ansi_margin m = {0};
    size_t before;

    do {
        before = m.columns;
        *l = choose_layout(a, a->v->dump->T, a->width > before ? a->width - before : 0);
        m = ansi_margin_for(a, l);
        m.columns = tg_size_max(m.columns, before);
    } while (m.columns > before);
    return m;
}

/* The width of a table's cells: what the numbers need, and more for tokens if there is room. */
static size_t choose_cell(const struct ansi *a, size_t columns)
{
    const size_t least = table_column(a->v), T = a->v->dump->T;
    const size_t room = a->width > columns ? (a->width - columns) / T : 0;
    const size_t wanted = tg_size_min(ansi_widest_tokens(a, 1, CELL_MAX - 1) + 1, room);

    return tg_size_max(least, wanted);
}

static tg_status draw_one(struct ansi *a, tg_err *err)
{
    view *v = a->v;
    const size_t T = v->dump->T;
    ansi_layout l;
    const ansi_margin m = choose_margin(a, &l);
    const size_t cell = choose_cell(a, m.columns);
    tg_status status;

    if ((status = view_fill(v, l.n, err)))
        return status;
    ansi_put_words(a, "layer %zu, head %zu: %zu token%s", v->map->layer->number, v->map->head, T,
                   T == 1 ? "" : "s");
    if (m.columns + T * cell <= a->width)
        put_table(a, &v->map->grid, &m, &l, cell);
    else
        put_large(a, &l, &v->map->grid, m);
    put_scale(a);
    put_cells_note(a, &l);
    return TG_OK;
}

/* ---- a sheet of maps */

/* Where maps are on a line of a sheet. */
struct row {
    const view_map *map; /* [n] */
    size_t n, columns;   /* of a map */
    size_t margin;       /* before the first one: of the queries' positions */
};

static void put_titles(struct ansi *a, const struct row *r)
{
    char title[64];

    ansi_repeat(a, " ", r->margin);
    for (size_t m = 0; m < r->n; m++) {
        const view_map *map = &r->map[m];

        snprintf(title, sizeof title, "layer %zu, head %zu", map->layer->number, map->head);
        if (tg_label_width(title) > r->columns)
            snprintf(title, sizeof title, "L%zu H%zu", map->layer->number, map->head);
        view_field(a->out, title, r->columns, a->more);
        if (m + 1 < r->n)
            ansi_repeat(a, " ", GAP);
    }
    ansi_end_line(a);
}

/* Fill the place between the map that was drawn and the next one. */
static void put_gap(struct ansi *a, const ansi_layout *l, const struct row *r, size_t m)
{
    if (m + 1 < r->n)
        ansi_repeat(a, " ", r->columns - l->side * l->columns + GAP);
}

/* The position of a line's first query, on every line of a small map, otherwise on every fourth. */
static void put_position(struct ansi *a, const ansi_layout *l, size_t margin, size_t line)
{
    char text[32] = "";

    if (l->lines <= LINES_DENSE || line % 4 == 0)
        snprintf(text, sizeof text, "%*zu", (int)margin - 1, line * ansi_queries(l));
    view_field(a->out, text, margin, "");
}

static void put_maps(struct ansi *a, const ansi_layout *l, const struct row *r)
{
    put_titles(a, r);
    ansi_repeat(a, " ", r->margin);
    for (size_t m = 0; m < r->n; m++) {
        ansi_put_ticks(a, l);
        put_gap(a, l, r, m);
    }
    ansi_end_line(a);
    for (size_t line = 0; line < l->lines; line++) {
        put_position(a, l, r->margin, line);
        for (size_t m = 0; m < r->n; m++) {
            put_map_line(a, l, &r->map[m].grid, line);
            put_gap(a, l, r, m);
        }
        ansi_end_line(a);
    }
    ansi_end_line(a);
}

static tg_status draw_sheet(struct ansi *a, tg_err *err)
{
    view *v = a->v;
    const size_t T = v->dump->T, margin = tg_decimal_digits(T - 1) + 1;
    const size_t room = a->width + GAP - tg_size_min(margin, a->width);
    const size_t per_line = tg_size_min(view_group(v, 0), tg_size_max(room / (MAP_MIN + GAP), 1));
    const size_t width = tg_size_min(room / per_line - GAP, MAP_MAX);
    const ansi_layout l = choose_layout(a, T, width);
    struct row r = {.margin = margin,
                    .columns = tg_size_min(tg_size_max(l.side * l.columns, MAP_MIN), tg_size_max(width, 2))};
    tg_status status = view_fill(v, l.n, err);

    if (status)
        return status;
    for (size_t m = 0; m < v->n; m += r.n) {
        r.map = v->map + m;
        r.n = tg_size_min(view_group(v, m), per_line); /* each group starts a new row */
        put_maps(a, &l, &r);
    }
    put_scale(a);
    put_cells_note(a, &l);
    ansi_put_words(a, "%zu tokens, 0 to %zu; one map with its tokens: -l LAYER -a HEAD", T, T - 1);
    return TG_OK;
}

tg_status view_ansi(view *v, tg_sink *out, view_color color, size_t width, tg_err *err)
{
    struct ansi a;

    ansi_begin(&a, out, color, width, v->paper, v->show == TG_ATTN_SCORES);
    a.v = v;
    if (v->title)
        ansi_put_title(&a, v->title);
    return v->n == 1 ? draw_one(&a, err) : draw_sheet(&a, err);
}
