/* view: heat maps as an image: one large map, or a sheet of all. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/view.h"
#include "formats/png.h"
#include "lib/base/size.h"
#include "lib/view/font.h"
#include "lib/view/label.h"
#include "lib/view/raster.h"

#define PIXELS_MAX ((size_t)1 << 26)
#define GAP 12        /* pixels around everything */
#define LABEL_MAX 18  /* letters of an axis label */
#define TOKEN_MIN 4   /* letters of a token that a sheet names although it has no room for its neighbours */
#define VALUE_MIN 40  /* pixels of a cell that is large enough for its number */
#define ROW_MAX 16    /* maps in a row */
#define SCALE_BAR 240 /* pixels: one per step */

/* All in pixels, except where noted. */
struct layout {
    size_t dot, cell, step; /* of a letter's dot; of a cell; step: tokens from one label to the next */
    size_t left, top;       /* of a map: its labels and title */
    size_t ids;             /* of these, the tokens' ids; 0: none */
    bool positions;         /* the labels are positions alone */
    size_t map_width, map_height;
    size_t columns, rows; /* maps */
    size_t width, height;
};

struct png {
    const view *v;
    struct layout l;
    tg_raster raster;
    tg_rgb palette[TG_INK_END];
};

/* ---- words */

static size_t text_width(const struct layout *l, size_t letters)
{
    return letters * TG_FONT_STEP * l->dot;
}

static size_t line_height(const struct layout *l)
{
    return (TG_FONT_HEIGHT + 3) * l->dot;
}

/* "12 token" in ASCII, cut to LABEL_MAX. */
static void make_label(char out[LABEL_MAX + 1], const struct layout *l, const view *v, size_t t)
{
    char token[4 * VIEW_LABEL];
    size_t n = (size_t)snprintf(out, LABEL_MAX + 1, "%zu ", t), used, bytes;

    if (l->positions || !v->label) {
        out[n - 1] = '\0';
        return;
    }
    (void)tg_label_show_ascii(token, sizeof token, v->label[t], strlen(v->label[t]));
    for (char *c = token; *c != '\0'; c++)
        *c = (char)(*c == ' ' ? TG_FONT_BLANK : *c);
    bytes = tg_label_fit(token, LABEL_MAX - n, &used);
    if (token[bytes] != '\0') {
        bytes = tg_label_fit(token, LABEL_MAX - n - 2, &used);
        memcpy(token + bytes, "..", 3);
    }
    memcpy(out + n, token, strlen(token) + 1);
}

static size_t widest_label(const struct layout *l, const view *v)
{
    char label[LABEL_MAX + 1];
    size_t widest = l->positions ? 1 : strlen("query");

    for (size_t t = 0; t < v->dump->T; t += l->step) {
        make_label(label, l, v, t);
        widest = tg_size_max(widest, strlen(label));
    }
    return widest;
}

/* Whether labels would name a few tokens of many, at length, in each map of a sheet. */
static bool names_too_few(const struct layout *l, const view *v)
{
    size_t widest = 0;

    for (size_t t = 0; v->label && t < v->dump->T; t++)
        widest = tg_size_max(widest, tg_label_width(v->label[t]));
    return v->n > 1 && l->step > 1 && widest > TOKEN_MIN;
}

static void make_title(char *out, size_t size, const struct png *p, const view_map *map)
{
    snprintf(out, size, "layer %zu, head %zu", map->layer->number, map->head);
    if (text_width(&p->l, strlen(out)) > p->l.map_width)
        snprintf(out, size, "L%zu H%zu", map->layer->number, map->head);
}

/* ---- layout */

/* The maps of a single layer fill a square; with several layers, each starts a new row. */
static void arrange(struct layout *l, const view *v)
{
    const size_t heads = view_same_layer(v, 0), layers = v->n / heads;

    l->columns = 1;
    while (layers == 1 && l->columns * l->columns < heads)
        l->columns++;
    if (layers > 1)
        l->columns = heads;
    l->columns = tg_size_min(l->columns, ROW_MAX);
    l->rows = layers * tg_ceil_div(heads, l->columns);
}

static size_t between(size_t x, size_t low, size_t high)
{
    return tg_size_min(tg_size_max(x, low), high);
}

static void lay_out(struct layout *l, const view *v)
{
    const size_t T = v->dump->T, label_height = (TG_FONT_HEIGHT + 1);

    *l = (struct layout){0};
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
static tg_status measure(struct layout *l, tg_err *err)
{
    const size_t least = SCALE_BAR + text_width(l, 40) + 2 * GAP;
    size_t pixels;

    l->width = tg_size_max(GAP + l->columns * (l->map_width + GAP), least);
    l->height = 2 * GAP + line_height(l) + l->rows * (l->map_height + GAP) + 5 * line_height(l);
    if (tg_size_mul(&pixels, l->width, l->height) && pixels <= PIXELS_MAX)
        return TG_OK;
    return tg_fail(
        err, TG_EUSAGE,
        "the image would have %s x %s pixels, which exceeds %s: choose a layer and a head with -l and -a",
        cli_count(l->width), cli_count(l->height), cli_count(PIXELS_MAX));
}

/* ---- one map */

/* Draw a label that ends at the map, and the id at the other end of the margin; `at`: the middle of the
 * token's cells. */
static void draw_query(struct png *p, size_t x, size_t at, const char *label, const char *id)
{
    const struct layout *l = &p->l;
    const size_t half = TG_FONT_HEIGHT * l->dot / 2, y = at - tg_size_min(half, at);

    tg_raster_text(&p->raster, x + l->left - 4 * l->dot - text_width(l, strlen(label)) + l->dot, y, l->dot,
                   TG_RIGHT, TG_INK_BLACK, label);
    tg_raster_text(&p->raster, x, y, l->dot, TG_RIGHT, TG_INK_FAINT, id);
}

/* The same above the map, upwards; y: the map's top. */
static void draw_key(struct png *p, size_t at, size_t y, const char *label, const char *id)
{
    const struct layout *l = &p->l;
    const size_t x = at - TG_FONT_HEIGHT * l->dot / 2, bottom = y - 4 * l->dot;

    tg_raster_text(&p->raster, x, bottom, l->dot, TG_UP, TG_INK_BLACK, label);
    tg_raster_text(&p->raster, x, bottom - (l->left - 4 * l->dot - l->ids) - l->dot * TG_FONT_STEP, l->dot,
                   TG_UP, TG_INK_FAINT, id);
}

/* Say what the axes are, in the corner between them. */
static void draw_corner(struct png *p, size_t x, size_t y)
{
    const struct layout *l = &p->l;
    const size_t bottom = y + l->top - line_height(l);

    tg_raster_text(&p->raster, x, y + line_height(l), l->dot, TG_RIGHT, TG_INK_FAINT, "key");
    tg_raster_text(&p->raster, x, bottom, l->dot, TG_RIGHT, TG_INK_FAINT, l->ids > 0 ? "id" : "");
    tg_raster_text(&p->raster, x + l->ids, bottom, l->dot, TG_RIGHT, TG_INK_FAINT, "query");
}

static void draw_axes(struct png *p, size_t x, size_t y)
{
    const struct layout *l = &p->l;
    char label[LABEL_MAX + 1], id[24] = "";

    if (!l->positions)
        draw_corner(p, x, y);
    for (size_t t = 0; t < p->v->dump->T; t += l->step) {
        const size_t middle = t * l->cell + l->cell / 2;

        make_label(label, l, p->v, t);
        if (l->ids > 0)
            snprintf(id, sizeof id, "%lld", (long long)p->v->dump->ids[t]);
        draw_query(p, x, y + l->top + middle, label, id);
        draw_key(p, x + l->left + middle, y + l->top, label, id);
    }
}

static void draw_value(struct png *p, size_t x, size_t y, double number, unsigned step)
{
    const struct layout *l = &p->l;
    char text[64];
    const size_t n = (size_t)snprintf(text, sizeof text, "%.2f", number);
    const size_t dot = text_width(l, n + 1) <= l->cell ? l->dot : 1, width = n * TG_FONT_STEP * dot;

    if (l->cell < VALUE_MIN || width > l->cell)
        return;
    tg_raster_text(&p->raster, x + (l->cell - width + dot) / 2,
                   y + (l->cell - (TG_FONT_HEIGHT - 1) * dot) / 2, dot, TG_RIGHT,
                   tg_rgb_luma(p->palette[step]) > 128 ? TG_INK_BLACK : TG_INK_WHITE, text);
}

static void draw_cells(struct png *p, const tg_grid *g, size_t x, size_t y)
{
    const size_t cell = p->l.cell;

    tg_raster_hatch(&p->raster, x, y, g->side * cell, g->side * cell);
    for (size_t i = 0; i < g->side; i++) {
        for (size_t j = 0; j <= i; j++) {
            const double number = (double)g->cell[i * g->side + j];
            const unsigned step = tg_colormap_step(tg_scale_place(&p->v->scale, number));

            tg_raster_fill(&p->raster, x + j * cell, y + i * cell, cell, cell, step);
            draw_value(p, x + j * cell, y + i * cell, number, step);
        }
    }
}

static void draw_map(struct png *p, const view_map *map, size_t x, size_t y)
{
    char title[64];

    make_title(title, sizeof title, p, map);
    tg_raster_text(&p->raster, x, y, p->l.dot, TG_RIGHT, TG_INK_BLACK, title);
    draw_axes(p, x, y);
    draw_cells(p, &map->grid, x + p->l.left, y + p->l.top);
}

/* ---- the words above and below */

static void draw_title(struct png *p)
{
    const size_t T = p->v->dump->T;
    char name[1024], shown[1100], ascii[1024];

    view_input(p->v, name, sizeof name);
    snprintf(shown, sizeof shown, "%s: %s, %zu token%s", name,
             p->v->show == TG_ATTN_PROBS ? "probabilities" : "scores", T, cli_plural(T));
    (void)tg_label_show_ascii(ascii, sizeof ascii, shown, strlen(shown));
    tg_raster_text(&p->raster, GAP, GAP, p->l.dot, TG_RIGHT, TG_INK_BLACK, ascii);
}

static void draw_scale(struct png *p, size_t y)
{
    const struct layout *l = &p->l;
    const char *name = view_scale_name(p->v);
    const size_t x = GAP + text_width(l, 4), line = line_height(l);
    char text[128];

    for (size_t step = 0; step < SCALE_BAR; step++)
        tg_raster_fill(&p->raster, x + step, y, 1, line, (unsigned)step);
    for (size_t tick = 0; tick <= 2; tick++) {
        const size_t at = x + tick * (SCALE_BAR - 1) / 2;
        const int n = snprintf(text, sizeof text, "%.3g%s", tg_scale_number(&p->v->scale, (double)tick / 2),
                               tick == 2 && view_scale_cuts(p->v) ? "+" : "");

        tg_raster_fill(&p->raster, at, y + line, 1, 3 * l->dot, TG_INK_BLACK);
        tg_raster_text(&p->raster, at - text_width(l, (size_t)n) / 2, y + line + 4 * l->dot, l->dot, TG_RIGHT,
                       TG_INK_BLACK, text);
    }
    tg_raster_hatch(&p->raster, x + SCALE_BAR + text_width(l, 4), y, line * 2, line);
    tg_raster_text(&p->raster, x + SCALE_BAR + text_width(l, 5) + line * 2, y + 2 * l->dot, l->dot, TG_RIGHT,
                   TG_INK_BLACK, "masked");
    snprintf(text, sizeof text, "%s%s%s; query down, key across", view_quantity(p->v),
             name ? ", colours by " : "", name ? name : "");
    tg_raster_text(&p->raster, GAP, y + 2 * line + 6 * l->dot, l->dot, TG_RIGHT, TG_INK_FAINT, text);
}

static void draw(struct png *p)
{
    const view *v = p->v;
    const struct layout *l = &p->l;
    const size_t first = 2 * GAP + line_height(l);
    size_t row = 0, heads;

    draw_title(p);
    for (size_t m = 0; m < v->n; m += heads, row += tg_ceil_div(heads, l->columns)) {
        heads = view_same_layer(v, m);
        for (size_t h = 0; h < heads; h++)
            draw_map(p, &v->map[m + h], GAP + h % l->columns * (l->map_width + GAP),
                     first + (row + h / l->columns) * (l->map_height + GAP));
    }
    draw_scale(p, first + l->rows * (l->map_height + GAP));
}

tg_status view_png(view *v, int fd, tg_err *err)
{
    struct png p = {.v = v};
    unsigned char bytes[TG_INK_END][3];
    tg_status status;

    lay_out(&p.l, v);
    if ((status = measure(&p.l, err)) || (status = view_fill(v, 1, err)) ||
        (status = tg_raster_make(&p.raster, p.l.width, p.l.height, err)))
        return status;
    tg_raster_palette(p.palette, v->show == TG_ATTN_SCORES);
    draw(&p);
    for (size_t n = 0; n < TG_INK_END; n++)
        memcpy(bytes[n], (unsigned char[3]){p.palette[n].r, p.palette[n].g, p.palette[n].b}, 3);
    if (tg_png_write(fd, p.raster.pixel, p.l.width, p.l.height, (const unsigned char(*)[3])bytes, TG_INK_END,
                     err))
        status = err->code;
    tg_raster_free(&p.raster);
    return status;
}
