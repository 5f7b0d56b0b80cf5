/* view: the sheet: where its cells, labels and legend are. */
#include "cmd/tg-attn-view/sheet.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "formats/path.h"
#include "lib/base/size.h"
#include "lib/view/font.h"
#include "lib/view/label.h"

#define GAP PICTURE_GAP
#define LABEL_MAX 18 /* columns of an axis label */
#define TOKEN_MIN 4  /* columns of a token that a sheet names although it has no room for its neighbours */
#define VALUE_MIN 40 /* pixels of a cell that is large enough for its number */
#define ROW_MAX 16   /* maps in a row */
#define SCALE_BAR PICTURE_SCALE_BAR

#define LABEL_SIZE (3 * VIEW_LABEL) /* bytes of an axis label: a blank may take two */

typedef struct view_layout layout;

/* ---- words */

static size_t text_width(const layout *l, size_t letters)
{
    return picture_text_width(l->dot, letters);
}

static size_t line_height(const layout *l)
{
    return picture_line_height(l->dot);
}

/* "12 token", cut to LABEL_MAX. */
static void make_label(char out[LABEL_SIZE], const layout *l, const view *v, size_t t)
{
    const size_t n = (size_t)snprintf(out, LABEL_SIZE, "%zu ", t);

    if (l->positions || !v->label || v->label[t][0] == '\0')
        out[n - 1] = '\0';
    else
        (void)picture_label(out + n, LABEL_SIZE - n, l->ascii, LABEL_MAX - n, v->label[t]);
}

static size_t widest_label(const layout *l, const view *v)
{
    char label[LABEL_SIZE];
    size_t widest = v->n == 1 ? strlen("query ") : 1; /* the corner's, apart from the first key's label */

    for (size_t t = 0; t < v->dump->T; t += l->step) {
        make_label(label, l, v, t);
        widest = tg_size_max(widest, tg_label_width(label));
    }
    return widest;
}

/* Whether labels would name a few tokens of many, at length, in each map of a sheet. */
static bool names_too_few(const layout *l, const view *v)
{
    size_t widest = 0;

    for (size_t t = 0; v->label && t < v->dump->T; t++)
        widest = tg_size_max(widest, tg_label_width(v->label[t]));
    return v->n > 1 && l->step > 1 && widest > TOKEN_MIN;
}

static void make_title(char *out, size_t size, const view_sheet *s, const view_map *map)
{
    snprintf(out, size, "layer %zu, head %zu", map->layer->number, map->head);
    if (text_width(&s->l, strlen(out)) > s->l.map_width)
        snprintf(out, size, "L%zu H%zu", map->layer->number, map->head);
}

static void make_name(view_sheet *s)
{
    const size_t T = s->v->dump->T;
    char name[1100];

    view_name(s->v->title, s->v->name, name, sizeof s->picture.name);
    if (!s->v->title)
        snprintf(name + strlen(name), sizeof name - strlen(name), ": %s, %zu token%s",
                 s->v->show == TG_ATTN_PROBS ? "probabilities" : "scores", T, cli_plural(T));
    picture_show(s->picture.name, sizeof s->picture.name, s->l.ascii, name);
}

/* ---- layout */

/* A single group fills a square; of several, each starts a new row. */
static void arrange(layout *l, const view *v)
{
    const size_t maps = view_group(v, 0), groups = v->n / maps;

    l->columns = 1;
    while (groups == 1 && l->columns * l->columns < maps)
        l->columns++;
    if (groups > 1)
        l->columns = maps;
    l->columns = tg_size_min(l->columns, ROW_MAX);
    l->rows = groups * tg_ceil_div(maps, l->columns);
}

static size_t between(size_t x, size_t low, size_t high)
{
    return tg_size_min(tg_size_max(x, low), high);
}

static void lay_out(layout *l, const view *v, bool ascii)
{
    const size_t T = v->dump->T, label_height = (TG_FONT_HEIGHT + 1);

    *l = (layout){.ascii = ascii};
    arrange(l, v);
    l->cell = v->n == 1 ? between(960 / T, 1, 80) : between(200 / T, 1, 64);
    l->dot = v->n == 1 && l->cell >= 2 * label_height ? 2 : 1;
    l->step = tg_ceil_div(label_height * l->dot, l->cell);
    l->positions = names_too_few(l, v);
    l->ids = v->id_width > 0 && v->n == 1 ? text_width(l, v->id_width + 1) : 0;
    l->left = l->ids + text_width(l, widest_label(l, v)) + 4 * l->dot;
    l->top = l->left + line_height(l);
    l->map_width = l->left + T * l->cell;
    l->map_height = l->top + T * l->cell;
}

/* Set the size of the image, including the text above and below the maps.  TG_EUSAGE: it is too large. */
static tg_status measure(view_sheet *s, tg_err *err)
{
    const layout *l = &s->l;
    view_picture *p = &s->picture;
    const size_t legend = SCALE_BAR + text_width(l, 40), name = text_width(l, tg_label_width(p->name));

    p->width = tg_size_max(GAP + l->columns * (l->map_width + GAP), tg_size_max(legend, name) + 2 * GAP);
    p->height = 2 * GAP + line_height(l) + l->rows * (l->map_height + GAP) + 5 * line_height(l);
    return picture_check_size(p, "choose a layer and a head with -l and -a", err);
}

/* ---- one map */

/* Draw a label that ends at the map, and the id at the other end of the margin; `at`: the middle of the
 * token's cells. */
static void draw_query(const view_sheet *s, size_t x, size_t at, const char *label, const char *id)
{
    const layout *l = &s->l;
    const size_t half = TG_FONT_HEIGHT * l->dot / 2, y = at - tg_size_min(half, at);

    s->picture.text(&s->picture, x + l->left - 4 * l->dot - text_width(l, tg_label_width(label)) + l->dot, y,
                    l->dot, TG_RIGHT, TG_INK_TEXT, label);
    s->picture.text(&s->picture, x, y, l->dot, TG_RIGHT, TG_INK_FAINT, id);
}

/* The same above the map, upwards; y: the map's top. */
static void draw_key(const view_sheet *s, size_t at, size_t y, const char *label, const char *id)
{
    const layout *l = &s->l;
    const size_t x = at - TG_FONT_HEIGHT * l->dot / 2, bottom = y - 4 * l->dot;

    s->picture.text(&s->picture, x, bottom, l->dot, TG_UP, TG_INK_TEXT, label);
    s->picture.text(&s->picture, x, bottom - (l->left - 4 * l->dot - l->ids) - l->dot * TG_FONT_STEP, l->dot,
                    TG_UP, TG_INK_FAINT, id);
}

/* Say what the axes are, in the corner between them. */
static void draw_corner(const view_sheet *s, size_t x, size_t y)
{
    const layout *l = &s->l;
    const size_t bottom = y + l->top - line_height(l);

    s->picture.text(&s->picture, x, y + line_height(l), l->dot, TG_RIGHT, TG_INK_FAINT, "key");
    s->picture.text(&s->picture, x, bottom, l->dot, TG_RIGHT, TG_INK_FAINT, l->ids > 0 ? "id" : "");
    s->picture.text(&s->picture, x + l->ids, bottom, l->dot, TG_RIGHT, TG_INK_FAINT, "query");
}

static void draw_axes(const view_sheet *s, size_t x, size_t y)
{
    const layout *l = &s->l;
    char label[LABEL_SIZE], id[24] = "";

    if (s->v->n == 1) /* on a sheet the legend says it, once */
        draw_corner(s, x, y);
    for (size_t t = 0; t < s->v->dump->T; t += l->step) {
        const size_t middle = t * l->cell + l->cell / 2;

        make_label(label, l, s->v, t);
        if (l->ids > 0)
            snprintf(id, sizeof id, "%lld", (long long)s->v->dump->ids[t]);
        draw_query(s, x, y + l->top + middle, label, id);
        draw_key(s, x + l->left + middle, y + l->top, label, id);
    }
}

static void draw_value(const view_sheet *s, size_t x, size_t y, double number, unsigned step)
{
    const layout *l = &s->l;
    char text[64];
    const size_t n = (size_t)snprintf(text, sizeof text, "%.2f", number);
    const size_t dot = text_width(l, n + 1) <= l->cell ? l->dot : 1, width = n * TG_FONT_STEP * dot;

    if (l->cell < VALUE_MIN || width > l->cell)
        return;
    s->picture.text(&s->picture, x + (l->cell - width + dot) / 2,
                    y + (l->cell - (TG_FONT_HEIGHT - 1) * dot) / 2, dot, TG_RIGHT,
                    picture_ink(&s->picture, step), text);
}

/* The colour of cell (i, j). */
static unsigned step_of(const view_sheet *s, const tg_grid *g, size_t i, size_t j)
{
    return tg_colormap_step(tg_scale_place(&s->v->scale, (double)g->cell[i * g->side + j]));
}

/* The first cell of query i that no window hides; a query sees itself. */
static size_t first_seen(const tg_grid *g, size_t i)
{
    size_t j = 0;

    while (j < i && isinf(g->cell[i * g->side + j]))
        j++;
    return j;
}

/* Draw a query's cells that are not masked: one rectangle for neighbours of the same colour. */
static void draw_row(const view_sheet *s, const tg_grid *g, size_t i, size_t x, size_t y)
{
    const size_t cell = s->l.cell;

    for (size_t first = first_seen(g, i), end; first <= i; first = end) {
        const unsigned step = step_of(s, g, i, first);

        for (end = first + 1; end <= i && step_of(s, g, i, end) == step;)
            end++;
        s->picture.fill(&s->picture, x + first * cell, y, (end - first) * cell, cell, step);
        for (size_t j = first; j < end; j++)
            draw_value(s, x + j * cell, y, (double)g->cell[i * g->side + j], step);
    }
}

static void draw_cells(const view_sheet *s, const tg_grid *g, size_t x, size_t y)
{
    const size_t cell = s->l.cell;

    s->picture.hatch(&s->picture, x, y, g->side * cell, g->side * cell);
    for (size_t i = 0; i < g->side; i++)
        draw_row(s, g, i, x, y + i * cell);
}

static void draw_map(const view_sheet *s, const view_map *map, size_t x, size_t y)
{
    char title[64];

    make_title(title, sizeof title, s, map);
    s->picture.text(&s->picture, x, y, s->l.dot, TG_RIGHT, TG_INK_TEXT, title);
    draw_axes(s, x, y);
    draw_cells(s, &map->grid, x + s->l.left, y + s->l.top);
}

/* ---- the legend below */

static void draw_legend(const view_sheet *s, size_t y)
{
    const layout *l = &s->l;
    const char *name = view_scale_name(&s->v->scale);
    const size_t x = GAP + text_width(l, 4), line = line_height(l);
    char text[128];

    picture_scale(&s->picture, x, y, l->dot, &s->v->scale);
    s->picture.hatch(&s->picture, x + SCALE_BAR + text_width(l, 4), y, line * 2, line);
    s->picture.text(&s->picture, x + SCALE_BAR + text_width(l, 5) + line * 2, y + 2 * l->dot, l->dot,
                    TG_RIGHT, TG_INK_TEXT, "masked");
    snprintf(text, sizeof text, "%s%s%s; query down, key across", view_quantity(s->v),
             name ? ", colours by " : "", name ? name : "");
    s->picture.text(&s->picture, GAP, y + 2 * line + 6 * l->dot, l->dot, TG_RIGHT, TG_INK_FAINT, text);
}

static void draw(const view_picture *p)
{
    const view_sheet *s = p->of;
    const view *v = s->v;
    const layout *l = &s->l;
    const size_t first = 2 * GAP + line_height(l);
    size_t row = 0, maps;

    s->picture.text(&s->picture, GAP, GAP, l->dot, TG_RIGHT, TG_INK_TEXT, p->name);
    for (size_t m = 0; m < v->n; m += maps, row += tg_ceil_div(maps, l->columns)) {
        maps = view_group(v, m);
        for (size_t n = 0; n < maps; n++)
            draw_map(s, &v->map[m + n], GAP + n % l->columns * (l->map_width + GAP),
                     first + (row + n / l->columns) * (l->map_height + GAP));
    }
    draw_legend(s, first + l->rows * (l->map_height + GAP));
}

/* Whether labels or the name have characters that the sheet's letters lack. */
static bool lacks_letters(const view_sheet *s)
{
    const view *v = s->v;
    bool lacks = !picture_is_ascii(v->title ? v->title : tg_path_name(v->name));

    for (size_t t = 0; v->label && !s->l.positions && t < v->dump->T; t += s->l.step)
        lacks = lacks || !picture_is_ascii(v->label[t]);
    return lacks && s->l.ascii;
}

tg_status view_sheet_make(view_sheet *s, view *v, bool ascii, tg_err *err)
{
    tg_status status;

    *s = (view_sheet){.v = v};
    lay_out(&s->l, v, ascii);
    make_name(s);
    if ((status = measure(s, err)) || (status = view_fill(v, 1, err)))
        return status;
    s->picture.of = s;
    s->picture.draw = draw;
    s->picture.lacks_letters = lacks_letters(s);
    tg_raster_palette(s->picture.palette,
                      (tg_colormap){.dark = v->paper == VIEW_DARK, .diverges = v->show == TG_ATTN_SCORES});
    return TG_OK;
}

tg_status view_png(view *v, int fd, tg_err *err)
{
    view_sheet s;
    const tg_status status = view_sheet_make(&s, v, true, err);

    return status ? status : picture_png(&s.picture, fd, err);
}

tg_status view_svg(view *v, tg_sink *out, tg_err *err)
{
    view_sheet s;
    const tg_status status = view_sheet_make(&s, v, false, err);

    if (!status)
        picture_svg(&s.picture, out);
    return status;
}
