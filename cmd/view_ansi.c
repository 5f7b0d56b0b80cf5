/* view: heat maps in a terminal. */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <math.h>
#include <stdio.h>

#include "cmd/view.h"
#include "lib/base/size.h"

#define SHADES ".:-=+*#%@" /* from the least to the greatest; blank is masked */
#define GAP 2              /* columns between maps on a sheet */
#define MAP_LEAST 16       /* columns of a map on a sheet, where there is room */
#define MAP_MOST 48
#define LABEL_MOST 14   /* columns of a query's token */
#define KEY_LINES 8     /* lines of tokens above the keys */
#define SCALE_COLUMNS 24
#define NO_COLOR 0xFFFFFFFFu

/* How the cells of maps are put on lines. */
struct layout {
    size_t n;       /* tokens a cell stands for */
    size_t columns; /* of a cell */
    bool halves;    /* two cells on a line, above each other */
    size_t side, lines;
};

struct ansi {
    view *v;
    view_out *out;
    view_color color;
    bool utf8;
    size_t width;
    unsigned fg, bg; /* as they are set: 0xRRGGBB, or NO_COLOR */
    const char *more, *blank;
    tg_rgb map[TG_COLORMAP_SIZE];
};

/* ---- what the terminal can do */

static bool is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value != '\0';
}

static bool contains(const char *name, const char *part)
{
    const char *value = getenv(name);

    return value && strstr(value, part);
}

static view_color find_color(int fd)
{
    const char *term = getenv("TERM");

    if (is_set("NO_COLOR") || !isatty(fd) || !term || *term == '\0' || strcmp(term, "dumb") == 0)
        return VIEW_NEVER;
    if (contains("COLORTERM", "truecolor") || contains("COLORTERM", "24bit") || contains("TERM", "direct"))
        return VIEW_TRUECOLOR;
    return contains("TERM", "256color") ? VIEW_256 : VIEW_NEVER;
}

/* The locale that is asked for, whether the system has it or not: what counts is what the terminal
 * shows. */
static bool find_utf8(void)
{
    const char *name = is_set("LC_ALL") ? "LC_ALL" : is_set("LC_CTYPE") ? "LC_CTYPE" : "LANG";

    return contains(name, "UTF-8") || contains(name, "utf8") || contains(name, "UTF8") || contains(name, "utf-8");
}

static size_t find_width(int fd)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");

    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    if (columns && *columns != '\0' && strspn(columns, "0123456789") == strlen(columns) && strlen(columns) < 5)
        return (size_t)atoi(columns);
    return 80;
}

/* ---- colours */

/* The nearest colour of the 6x6x6 cube and the 24 greys that 256-colour terminals agree on. */
static unsigned nearest_256(tg_rgb c)
{
    const int rgb[3] = {c.r, c.g, c.b};
    unsigned best = 16, least = ~0u;

    for (unsigned n = 16; n < 256; n++) {
        unsigned distance = 0;

        for (unsigned i = 0; i < 3; i++) {
            const unsigned step = (n - 16) / (i == 0 ? 36 : i == 1 ? 6 : 1) % 6;
            const int level = n >= 232 ? (int)(8 + 10 * (n - 232)) : (int)(step > 0 ? 55 + 40 * step : 0);

            distance += (unsigned)((rgb[i] - level) * (rgb[i] - level));
        }
        if (distance < least) {
            least = distance;
            best = n;
        }
    }
    return best;
}

static void set_color(struct ansi *a, bool back, unsigned color)
{
    unsigned *now = back ? &a->bg : &a->fg;
    const tg_rgb c = {(unsigned char)(color >> 16), (unsigned char)(color >> 8), (unsigned char)color};

    if (*now == color || a->color == VIEW_NEVER)
        return;
    *now = color;
    if (color == NO_COLOR)
        view_print(a->out, "\033[%um", back ? 49u : 39u);
    else if (a->color == VIEW_TRUECOLOR)
        view_print(a->out, "\033[%u;2;%u;%u;%um", back ? 48u : 38u, c.r, c.g, c.b);
    else
        view_print(a->out, "\033[%u;5;%um", back ? 48u : 38u, nearest_256(c));
}

static void set_colors(struct ansi *a, unsigned fg, unsigned bg)
{
    set_color(a, false, fg);
    set_color(a, true, bg);
}

static void new_line(struct ansi *a)
{
    set_colors(a, NO_COLOR, NO_COLOR);
    view_put(a->out, "\n", 1);
}

static unsigned color_at(const struct ansi *a, double place)
{
    const tg_rgb c = a->map[tg_colormap_step(place)];

    return (unsigned)c.r << 16 | (unsigned)c.g << 8 | c.b;
}

static unsigned ink_on(unsigned color)
{
    const tg_rgb c = {(unsigned char)(color >> 16), (unsigned char)(color >> 8), (unsigned char)color};

    return tg_rgb_luma(c) > 128 ? 0x000000 : 0xFFFFFF;
}

static char shade_at(double place)
{
    const size_t last = strlen(SHADES) - 1;

    return SHADES[tg_size_min((size_t)(place * (double)(last + 1)), last)];
}

static void repeat(struct ansi *a, const char *text, size_t n)
{
    while (n-- > 0)
        view_put(a->out, text, strlen(text));
}

/* ---- cells */

static struct layout choose_layout(const struct ansi *a, size_t T, size_t room)
{
    struct layout l = {.n = 1, .columns = 2};

    room = tg_size_max(room, 2);
    if (a->color != VIEW_NEVER && a->utf8 && 2 * T > room)
        l = (struct layout){.n = tg_ceil_div(T, room), .columns = 1, .halves = true};
    else if (2 * T > room && T <= room)
        l.columns = 1; /* taller than wide, but every number is there */
    else
        l.n = tg_ceil_div(2 * T, room);
    l.side = tg_ceil_div(T, l.n);
    l.lines = l.halves ? tg_ceil_div(l.side, 2) : l.side;
    return l;
}

/* The colour of a cell, or NO_COLOR for a masked one, or one below the map. */
static unsigned cell_color(const struct ansi *a, const tg_grid *g, size_t i, size_t j)
{
    if (i >= g->side || !isfinite(g->cell[i * g->side + j]))
        return NO_COLOR;
    return color_at(a, tg_scale_place(&a->v->scale, (double)g->cell[i * g->side + j]));
}

static void put_halves(struct ansi *a, unsigned upper, unsigned lower)
{
    if (upper == NO_COLOR) {
        set_colors(a, lower, NO_COLOR);
        repeat(a, lower == NO_COLOR ? " " : "▄", 1);
    } else {
        set_colors(a, upper, lower);
        repeat(a, "▀", 1);
    }
}

static void put_cell(struct ansi *a, const struct layout *l, const tg_grid *g, size_t i, size_t j)
{
    const float x = g->cell[i * g->side + j];
    char shade[2] = " ";

    set_colors(a, NO_COLOR, cell_color(a, g, i, j));
    if (a->color == VIEW_NEVER && isfinite(x))
        shade[0] = shade_at(tg_scale_place(&a->v->scale, (double)x));
    repeat(a, shade, l->columns);
}

static void put_map_line(struct ansi *a, const struct layout *l, const tg_grid *g, size_t line)
{
    for (size_t j = 0; j < g->side; j++) {
        if (l->halves)
            put_halves(a, cell_color(a, g, 2 * line, j), cell_color(a, g, 2 * line + 1, j));
        else
            put_cell(a, l, g, line, j);
    }
    set_colors(a, NO_COLOR, NO_COLOR);
}

/* ---- labels */

/* Token t as this terminal can show it, blanks visible. */
static const char *token(const struct ansi *a, size_t t, char *room, size_t size)
{
    char ascii[2 * VIEW_LABEL];
    const char *from = a->v->label[t];
    size_t used = 0;

    if (!a->utf8) {
        view_escape(ascii, sizeof ascii, from, true);
        from = ascii;
    }
    for (; *from != '\0' && used + 3 < size; from++) {
        const char *piece = *from == ' ' ? a->blank : (const char[]){*from, '\0'};

        memcpy(room + used, piece, strlen(piece));
        used += strlen(piece);
    }
    room[used] = '\0';
    return room;
}

static size_t number_width(size_t n)
{
    return (size_t)snprintf(NULL, 0, "%zu", n);
}

/* Tokens in a label of this map: one, or the two of a line in halves. */
static size_t label_width(const struct ansi *a)
{
    size_t widest = 0;
    char room[2 * VIEW_LABEL];

    for (size_t t = 0; a->v->label && t < a->v->dump->T; t++)
        widest = tg_size_max(widest, view_columns(token(a, t, room, sizeof room)));
    return tg_size_min(widest, LABEL_MOST);
}

/* "12 token" before a line; "12-25" where cells stand for more queries than one. */
static void put_query(struct ansi *a, size_t first, size_t n, bool range, size_t columns)
{
    const size_t T = a->v->dump->T, last = tg_size_min(first + n, T) - 1, digits = number_width(T - 1);
    char room[2 * VIEW_LABEL], text[4 * VIEW_LABEL];
    int used;

    if (range) {
        snprintf(text, sizeof text, "%*zu-%zu", (int)digits, first, last);
    } else {
        used = snprintf(text, sizeof text, "%*zu", (int)digits, first);
        for (size_t t = first; a->v->label && t <= last; t++)
            used += snprintf(text + used, sizeof text - (size_t)used, " %s", token(a, t, room, sizeof room));
    }
    view_field(a->out, text, columns - 1, a->more);
    view_put(a->out, " ", 1);
}

/* The keys' tokens, letter under letter, ending just above the map. */
static void put_upright(struct ansi *a, size_t columns, size_t cell)
{
    const size_t T = a->v->dump->T;
    size_t lines = 0, wide;
    char room[2 * VIEW_LABEL];

    for (size_t t = 0; t < T; t++)
        lines = tg_size_max(lines, tg_size_min(KEY_LINES, view_columns(token(a, t, room, sizeof room))));
    for (size_t line = 0; line < lines; line++) {
        view_field(a->out, line == 0 ? "key" : "", columns, a->more);
        for (size_t t = 0; t < T; t++) {
            const char *at = token(a, t, room, sizeof room);
            size_t above, length;
            const size_t height = tg_size_min(KEY_LINES, view_columns(at));
            char letter[8] = "";

            /* A character of two columns stands on two lines' share, too: none is lost. */
            for (above = lines - height; above <= line && *at != '\0'; above += tg_size_max(wide, 1)) {
                length = view_character(at, &wide);
                snprintf(letter, sizeof letter, "%.*s", above == line ? (int)length : 0, at);
                at += length;
            }
            if (line == lines - 1 && *at != '\0')
                snprintf(letter, sizeof letter, "%s", a->more);
            view_field(a->out, letter, cell, cell < 2 ? "+" : a->more);
        }
        new_line(a);
    }
}

/* Positions above every tenth column or so. */
static void put_ticks(struct ansi *a, const struct layout *l, size_t columns)
{
    char number[24];
    const size_t step = tg_ceil_div(number_width(a->v->dump->T) + 4, l->columns);

    view_field(a->out, "key", columns, a->more);
    for (size_t j = 0; j < l->side; j += step) {
        snprintf(number, sizeof number, "%zu", j * l->n);
        view_field(a->out, number, l->columns * tg_size_min(step, l->side - j), "");
    }
    new_line(a);
}

/* ---- words around the maps */

static void put_scale(struct ansi *a)
{
    const tg_scale *s = &a->v->scale;
    const char *name = view_scale_name(a->v);
    char shade[2] = " ";
    const size_t n = a->color == VIEW_NEVER ? strlen(SHADES) : SCALE_COLUMNS;

    view_print(a->out, "%s %.4g ", view_quantity(a->v), tg_scale_number(s, 0));
    for (size_t c = 0; c < n; c++) {
        const double place = (double)c / (double)(n - 1);

        set_colors(a, NO_COLOR, color_at(a, place));
        if (a->color == VIEW_NEVER)
            shade[0] = shade_at(place);
        view_put(a->out, shade, 1);
    }
    set_colors(a, NO_COLOR, NO_COLOR);
    view_print(a->out, " %.4g", tg_scale_number(s, 1));
    if (name)
        view_print(a->out, "  (%s scale, %.2g in the middle)", name, tg_scale_number(s, 0.5));
    new_line(a);
}

static void put_cells_note(struct ansi *a, const struct layout *l)
{
    if (l->n > 1)
        view_print(a->out, "each cell: the greatest of %zu x %zu\n", l->n, l->n);
    view_print(a->out, "query down, key across; blank: masked\n");
}

/* ---- one map, with tokens along its sides */

/* The columns that a number takes in a table. */
static size_t table_column(const view *v)
{
    const double low = fabs(v->scale.low), high = fabs(v->scale.high);
    const int n = snprintf(NULL, 0, "%.2f", -(low > high ? low : high));

    return v->show == TG_DUMP_PROBS ? 6 : (size_t)n + 2;
}

static void put_number(struct ansi *a, double x, size_t columns)
{
    char text[64];
    const unsigned color = isfinite(x) ? color_at(a, tg_scale_place(&a->v->scale, x)) : NO_COLOR;

    set_colors(a, color == NO_COLOR ? NO_COLOR : ink_on(color), color);
    if (color == NO_COLOR)
        snprintf(text, sizeof text, "%*s ", (int)columns - 1, "-");
    else
        snprintf(text, sizeof text, "%*.2f ", (int)columns - 1, x);
    view_put(a->out, text, strlen(text));
}

static void put_table_head(struct ansi *a, size_t columns, size_t cell)
{
    const size_t T = a->v->dump->T;
    char room[2 * VIEW_LABEL];

    view_field(a->out, "key", columns, a->more);
    for (size_t t = 0; t < T; t++)
        view_print(a->out, "%*zu ", (int)cell - 1, t);
    new_line(a);
    if (!a->v->label)
        return;
    view_field(a->out, "", columns, a->more);
    for (size_t t = 0; t < T; t++) {
        const char *text = token(a, t, room, sizeof room);
        const size_t used = tg_size_min(view_columns(text), cell - 1);

        repeat(a, " ", cell - 1 - used);
        view_field(a->out, text, used, a->more);
        view_put(a->out, " ", 1);
    }
    new_line(a);
}

static void put_table(struct ansi *a, const tg_grid *g, size_t columns, size_t cell)
{
    put_table_head(a, columns, cell);
    for (size_t i = 0; i < g->side; i++) {
        put_query(a, i, 1, false, columns);
        for (size_t j = 0; j < g->side; j++)
            put_number(a, (double)g->cell[i * g->side + j], cell);
        new_line(a);
    }
}

static void put_large(struct ansi *a, const struct layout *l, const tg_grid *g, size_t columns)
{
    const size_t queries = l->n * (l->halves ? 2 : 1);

    if (l->n == 1 && a->v->label)
        put_upright(a, columns, l->columns);
    else
        put_ticks(a, l, columns);
    for (size_t line = 0; line < l->lines; line++) {
        put_query(a, line * queries, queries, l->n > 1, columns);
        put_map_line(a, l, g, line);
        new_line(a);
    }
}

static tg_status draw_one(struct ansi *a, tg_err *err)
{
    view *v = a->v;
    const size_t T = v->dump->T, digits = number_width(T - 1), label = label_width(a);
    size_t columns = digits + 1 + (label > 0 ? label + 1 : 0), cell;
    struct layout l;
    tg_status status;

    columns = tg_size_max(columns, strlen("key") + 1);
    l = choose_layout(a, T, a->width > columns ? a->width - columns : 0);
    if (l.n > 1 || !label) {
        columns = tg_size_max(2 * digits + 2, strlen("key") + 1);
        l = choose_layout(a, T, a->width > columns ? a->width - columns : 0);
    }
    if ((status = view_fill(v, l.n, err)))
        return status;
    view_print(a->out, "layer %zu, head %zu: %zu token%s\n", v->map->layer->number, v->map->head, T,
               T == 1 ? "" : "s");
    cell = table_column(v);
    if (columns + T * cell <= a->width)
        put_table(a, &v->map->grid, columns, cell);
    else
        put_large(a, &l, &v->map->grid, columns);
    put_scale(a);
    put_cells_note(a, &l);
    return TG_OK;
}

/* ---- a sheet of maps */

static void put_titles(struct ansi *a, const view_map *map, size_t n, size_t columns)
{
    char title[64];

    for (size_t m = 0; m < n; m++) {
        snprintf(title, sizeof title, "layer %zu, head %zu", map[m].layer->number, map[m].head);
        if (view_columns(title) > columns)
            snprintf(title, sizeof title, "L%zu H%zu", map[m].layer->number, map[m].head);
        view_field(a->out, title, columns, a->more);
        if (m + 1 < n)
            repeat(a, " ", GAP);
    }
    new_line(a);
}

static void put_maps(struct ansi *a, const struct layout *l, const view_map *map, size_t n, size_t columns)
{
    put_titles(a, map, n, columns);
    for (size_t line = 0; line < l->lines; line++) {
        for (size_t m = 0; m < n; m++) {
            put_map_line(a, l, &map[m].grid, line);
            if (m + 1 < n)
                repeat(a, " ", columns - l->side * l->columns + GAP);
        }
        new_line(a);
    }
    new_line(a);
}

/* Maps of one layer begin a new line of maps. */
static size_t same_layer(const view *v, size_t first, size_t most)
{
    size_t n = 1;

    while (n < most && first + n < v->n && v->map[first + n].layer == v->map[first].layer)
        n++;
    return n;
}

static tg_status draw_sheet(struct ansi *a, tg_err *err)
{
    view *v = a->v;
    const size_t fit = tg_size_max((a->width + GAP) / (MAP_LEAST + GAP), 1);
    const size_t per_line = tg_size_min(same_layer(v, 0, SIZE_MAX), fit);
    const size_t room = tg_size_min((a->width + GAP) / per_line - GAP, MAP_MOST);
    const struct layout l = choose_layout(a, v->dump->T, room);
    const size_t columns = tg_size_min(tg_size_max(l.side * l.columns, MAP_LEAST), tg_size_max(room, 2));
    tg_status status = view_fill(v, l.n, err);

    if (status)
        return status;
    for (size_t m = 0, n; m < v->n; m += n) {
        n = same_layer(v, m, per_line);
        put_maps(a, &l, v->map + m, n, columns);
    }
    put_scale(a);
    put_cells_note(a, &l);
    view_print(a->out, "%zu tokens, 0 to %zu; one map with its tokens: -l LAYER -a HEAD\n", v->dump->T,
               v->dump->T - 1);
    return TG_OK;
}

tg_status view_ansi(view *v, view_out *out, view_color color, size_t width, tg_err *err)
{
    struct ansi a = {.v = v, .out = out, .color = color, .utf8 = find_utf8(), .width = width,
                     .fg = NO_COLOR, .bg = NO_COLOR};

    if (color == VIEW_AUTO)
        a.color = find_color(out->fd);
    if (width == 0)
        a.width = find_width(out->fd);
    a.more = a.utf8 ? "…" : "~";
    a.blank = a.utf8 ? "·" : "_";
    tg_colormap_fill(a.map);
    return v->n == 1 ? draw_one(&a, err) : draw_sheet(&a, err);
}
