/* heat: a map as a picture. */
#include <stdio.h>
#include <string.h>

#include "cmd/tg-attn-view/heat.h"
#include "cmd/tg-attn-view/picture.h"
#include "lib/base/size.h"
#include "lib/view/font.h"
#include "lib/view/label.h"

#define GAP PICTURE_GAP
#define LABEL_MAX 18 /* columns of a column's label, */
#define TEXT_MAX 10  /* and of a cell's token */
#define LARGE 1200   /* pixels of the cells across, up to which letters are large */
#define WIDE 4800    /* more: cells without texts */
#define LABEL_SIZE (3 * VIEW_LABEL)
#define LINE_SIZE (4 * HEAT_LINE)

/* All in pixels. */
struct heat_picture {
    view_picture picture;
    const heat *h;
    bool ascii, texts; /* texts: cells have them */
    size_t dot;
    size_t width, height; /* of a cell */
    size_t left, top;     /* of the cells, from the map's corner */
};

/* ---- labels */

/* "12 token", or "12 token/other" */
static void make_label(char out[LABEL_SIZE], const struct heat_picture *p, size_t column)
{
    const heat *h = p->h;
    const size_t n = (size_t)snprintf(out, LABEL_SIZE, "%s ", h->column[column]);
    char both[2 * VIEW_LABEL];

    if (!h->token || h->token[column][0] == '\0') {
        out[n - 1] = '\0';
        return;
    }
    snprintf(both, sizeof both, "%s%s", h->token[column], h->other ? h->other[column] : "");
    (void)picture_label(out + n, LABEL_SIZE - n, p->ascii, LABEL_MAX - n, both);
}

/* What a cell has: its token, cut, or its number. */
static void make_text(char out[LABEL_SIZE], const struct heat_picture *p, size_t i, size_t j)
{
    const heat *h = p->h;

    if (h->text)
        (void)picture_label(out, LABEL_SIZE, p->ascii, TEXT_MAX, h->text[i * h->columns + j]);
    else
        heat_number(out, h, i, j);
}

static size_t widest_column(const struct heat_picture *p)
{
    char label[LABEL_SIZE];
    size_t widest = 1;

    for (size_t j = 0; j < p->h->columns; j++) {
        make_label(label, p, j);
        widest = tg_size_max(widest, tg_label_width(label));
    }
    return widest;
}

static size_t widest_row(const heat *h)
{
    size_t widest = strlen(h->rows_are);

    for (size_t i = 0; i < h->rows; i++)
        widest = tg_size_max(widest, strlen(h->row[i]));
    return widest;
}

static size_t widest_text(const struct heat_picture *p)
{
    char text[LABEL_SIZE];
    size_t widest = 1;

    if (!p->h->text)
        return heat_widest_number(p->h);
    for (size_t i = 0; i < p->h->rows; i++)
        for (size_t j = 0; j < p->h->columns; j++) {
            make_text(text, p, i, j);
            widest = tg_size_max(widest, tg_label_width(text));
        }
    return widest;
}

/* ---- layout */

static void lay_out(struct heat_picture *p)
{
    const heat *h = p->h;
    const size_t columns = widest_text(p) + 1;

    p->dot = h->columns * picture_text_width(2, columns) <= LARGE ? 2 : 1;
    p->texts = h->columns * picture_text_width(p->dot, columns) <= WIDE;
    p->height = picture_line_height(p->dot) + 2 * p->dot;
    p->width =
        p->texts ? tg_size_max(picture_text_width(p->dot, columns), p->height) : picture_line_height(p->dot);
    p->left = picture_text_width(p->dot, widest_row(h) + 1);
    p->top = picture_text_width(p->dot, widest_column(p)) + 6 * p->dot;
}

/* Line n of the words below the colour scale; false: there are no more. */
static bool make_words(char out[LINE_SIZE], const struct heat_picture *p, size_t n)
{
    const heat *h = p->h;
    const char *scale = view_scale_name(&h->scale);
    char axes[HEAT_LINE];

    *out = '\0';
    heat_axes(axes, h, p->texts);
    if (n == 0)
        snprintf(out, LINE_SIZE, "%s%s%s", h->quantity, scale ? ", colours by " : "", scale ? scale : "");
    else if (n < HEAT_LINES + 2)
        picture_show(out, LINE_SIZE, p->ascii, n == 1 ? axes : h->about[n - 2]);
    return *out != '\0';
}

static tg_status measure(struct heat_picture *p, tg_err *err)
{
    const heat *h = p->h;
    view_picture *to = &p->picture;
    size_t words = tg_label_width(to->name), n = 0;
    char text[LINE_SIZE];

    for (; make_words(text, p, n); n++)
        words = tg_size_max(words, tg_label_width(text));
    words =
        tg_size_max(picture_text_width(p->dot, words), PICTURE_SCALE_BAR + picture_text_width(p->dot, 12));
    to->width = 2 * GAP + tg_size_max(p->left + h->columns * p->width, words);
    to->height = 4 * GAP + (3 + n) * picture_line_height(p->dot) + p->top + h->rows * p->height + 6 * p->dot;
    return picture_check_size(to, "choose layers with -l", err);
}

/* ---- drawing */

static void put(const struct heat_picture *p, size_t x, size_t y, unsigned ink, const char *text)
{
    p->picture.text(&p->picture, x, y, p->dot, TG_RIGHT, ink, text);
}

static void draw_cell(const struct heat_picture *p, size_t x, size_t y, size_t i, size_t j)
{
    char text[LABEL_SIZE];
    unsigned step;
    const bool has = heat_step(&step, p->h, i, j);

    if (has)
        p->picture.fill(&p->picture, x, y, p->width, p->height, step);
    if (!p->texts)
        return;
    make_text(text, p, i, j);
    x += p->h->text ? 3 * p->dot : (p->width - picture_text_width(p->dot, strlen(text)) + p->dot) / 2;
    put(p, x, y + (p->height - (TG_FONT_HEIGHT - 1) * p->dot) / 2,
        has ? picture_ink(&p->picture, step) : TG_INK_TEXT, text);
}

static void draw_columns(const struct heat_picture *p, size_t x, size_t y)
{
    char label[LABEL_SIZE];

    for (size_t j = 0; j < p->h->columns; j++) {
        make_label(label, p, j);
        p->picture.text(&p->picture, x + j * p->width + (p->width - TG_FONT_HEIGHT * p->dot) / 2,
                        y - 3 * p->dot, p->dot, TG_UP, TG_INK_TEXT, label);
    }
}

static void draw_map(const struct heat_picture *p, size_t x, size_t y)
{
    const heat *h = p->h;

    put(p, x, y + p->top - picture_line_height(p->dot), TG_INK_FAINT, h->rows_are);
    draw_columns(p, x + p->left, y + p->top);
    for (size_t i = 0; i < h->rows; i++) {
        const size_t at = y + p->top + i * p->height,
                     width = picture_text_width(p->dot, strlen(h->row[i]) + 1);

        put(p, x + p->left - width + p->dot, at + (p->height - (TG_FONT_HEIGHT - 1) * p->dot) / 2,
            TG_INK_TEXT, h->row[i]);
        for (size_t j = 0; j < h->columns; j++)
            draw_cell(p, x + p->left + j * p->width, at, i, j);
    }
}

static void draw(const view_picture *to)
{
    const struct heat_picture *p = to->of;
    const size_t line = picture_line_height(p->dot);
    size_t y = 2 * GAP + line;
    char text[LINE_SIZE];

    put(p, GAP, GAP, TG_INK_TEXT, to->name);
    draw_map(p, GAP, y);
    y += p->top + p->h->rows * p->height + GAP;
    picture_scale(to, GAP + picture_text_width(p->dot, 4), y, p->dot, &p->h->scale);
    y += 2 * line + 6 * p->dot;
    for (size_t n = 0; make_words(text, p, n); n++)
        put(p, GAP, y + n * line, TG_INK_FAINT, text);
}

/* ---- all of it */

static bool lacks_letters(const struct heat_picture *p)
{
    const heat *h = p->h;
    bool lacks = !picture_is_ascii(h->title ? h->title : h->name);

    for (size_t j = 0; h->token && j < h->columns; j++)
        lacks = lacks || !picture_is_ascii(h->token[j]) || (h->other && !picture_is_ascii(h->other[j]));
    for (size_t i = 0; h->text && p->texts && i < h->rows * h->columns; i++)
        lacks = lacks || !picture_is_ascii(h->text[i]);
    return lacks && p->ascii;
}

static tg_status make(struct heat_picture *p, const heat *h, bool ascii, tg_err *err)
{
    char name[sizeof p->picture.name];

    *p = (struct heat_picture){.h = h, .ascii = ascii};
    view_name(h->title, h->name, name, sizeof name);
    picture_show(p->picture.name, sizeof p->picture.name, ascii, name);
    if (!h->title)
        snprintf(p->picture.name + strlen(p->picture.name), sizeof name - strlen(p->picture.name), ": %s",
                 h->quantity);
    lay_out(p);
    p->picture.of = p;
    p->picture.draw = draw;
    p->picture.lacks_letters = lacks_letters(p);
    tg_raster_palette(p->picture.palette,
                      (tg_colormap){.dark = h->paper == VIEW_DARK, .diverges = h->diverges});
    return measure(p, err);
}

tg_status heat_png(const heat *h, int fd, tg_err *err)
{
    struct heat_picture p;
    const tg_status status = make(&p, h, true, err);

    return status ? status : picture_png(&p.picture, fd, err);
}

tg_status heat_svg(const heat *h, tg_sink *out, tg_err *err)
{
    struct heat_picture p;
    const tg_status status = make(&p, h, false, err);

    if (!status)
        picture_svg(&p.picture, out);
    return status;
}
