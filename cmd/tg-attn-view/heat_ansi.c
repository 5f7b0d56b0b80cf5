/* heat: a map in a terminal, in blocks of columns that fit. */
#include <stdio.h>
#include <string.h>

#include "cmd/tg-attn-view/ansi.h"
#include "cmd/tg-attn-view/heat.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define TEXT_MIN 2   /* columns of a cell's token, */
#define TEXT_MAX 10  /* at most */
#define TOKEN_MAX 8  /* columns of a column's token, where numbers need fewer */
#define BLOCKS_MAX 8 /* more blocks: cells of two columns, without their texts */
#define COMPACT 2

struct heat_layout {
    size_t margin; /* columns of the rows' names, with a space */
    size_t cell;   /* columns of a cell, */
    size_t block;  /* and cells of a block */
    bool compact;
    bool joined; /* a token that differs is followed by the other one, else that one is on a line below */
};

static size_t widest_of(const struct ansi *a, char (*label)[VIEW_LABEL], size_t n, size_t max)
{
    char buffer[ANSI_TOKEN];
    size_t widest = 0;

    for (size_t i = 0; label && i < n && widest < max; i++)
        widest = tg_size_max(widest, tg_label_width(ansi_visible(a, label[i], buffer)));
    return tg_size_min(widest, max);
}

/* The widest token with the one that it is compared with. */
static size_t widest_pair(const struct ansi *a, const heat *h)
{
    char buffer[ANSI_TOKEN];
    size_t widest = 0;

    for (size_t j = 0; h->other && j < h->columns; j++)
        if (h->other[j][0] != '\0') {
            const size_t width = tg_label_width(ansi_visible(a, h->token[j], buffer));

            widest = tg_size_max(widest, width + tg_label_width(ansi_visible(a, h->other[j], buffer)));
        }
    return widest;
}

static struct heat_layout lay_out(const struct ansi *a, const heat *h)
{
    const bool shades = a->color == VIEW_NEVER && h->text; /* after the token */
    struct heat_layout l = {.margin = strlen(h->columns_are)};
    size_t text, room, blocks;

    for (size_t i = 0; i < h->rows; i++)
        l.margin = tg_size_max(l.margin, strlen(h->row[i]));
    l.margin++;
    text = h->text ? tg_size_max(widest_of(a, h->text, h->rows * h->columns, TEXT_MAX), TEXT_MIN)
                   : tg_size_max(heat_widest_number(h), widest_of(a, h->token, h->columns, TOKEN_MAX));
    l.joined = widest_pair(a, h) <= TOKEN_MAX;
    text = tg_size_max(text, l.joined ? widest_pair(a, h) : widest_of(a, h->other, h->columns, TOKEN_MAX));
    for (size_t j = 0; j < h->columns; j++)
        text = tg_size_max(text, strlen(h->column[j]));
    l.cell = text + 1 + shades;
    room = tg_size_max(a->width - tg_size_min(l.margin, a->width), l.cell);
    blocks = tg_ceil_div(h->columns, room / l.cell);
    if ((l.compact = blocks > BLOCKS_MAX)) {
        l.cell = COMPACT;
        blocks = tg_ceil_div(h->columns, room / l.cell);
    }
    l.block = tg_ceil_div(h->columns, blocks);
    return l;
}

/* ---- a cell */

static void put_cell(struct ansi *a, const struct heat_layout *l, const heat *h, size_t i, size_t j)
{
    const bool shades = a->color == VIEW_NEVER;
    char number[HEAT_NUMBER], buffer[ANSI_TOKEN], shade[2] = " ";
    unsigned step;

    if (!heat_step(&step, h, i, j)) {
        ansi_colors(a, ANSI_NONE, ANSI_NONE);
    } else {
        ansi_colors(a, l->compact ? ANSI_NONE : ansi_ink(a, step), step);
        if (shades)
            shade[0] = ansi_shade(tg_scale_place(&h->scale, h->value[i * h->columns + j]));
    }
    if (l->compact) {
        ansi_repeat(a, shade, l->cell);
    } else if (h->text) {
        view_field(a->out, ansi_visible(a, h->text[i * h->columns + j], buffer), l->cell - 1 - shades,
                   a->more);
        tg_sink_puts(a->out, shades ? shade : "");
        tg_sink_puts(a->out, " ");
    } else {
        heat_number(number, h, i, j);
        ansi_put_right(a, number, l->cell);
    }
}

/* ---- what is above the cells */

/* A name above its column, as the cells' texts are: tokens at the left, numbers at the right. */
static void put_above(struct ansi *a, const struct heat_layout *l, const heat *h, const char *name)
{
    if (h->text) {
        view_field(a->out, name, l->cell - 1, a->more);
        tg_sink_puts(a->out, " ");
    } else {
        ansi_put_right(a, name, l->cell);
    }
}

/* Of a token that is compared with another, the beginning and the end: the two may differ in either. */
static void put_compared(struct ansi *a, const struct heat_layout *l, const heat *h, const char *name)
{
    const size_t width = l->cell - 1;
    const char *end = name;
    char shown[5 * ANSI_TOKEN];
    size_t used, n;

    if (tg_label_width(name) <= width) {
        put_above(a, l, h, name);
        return;
    }
    while (tg_label_width(end) > (width - 1) / 2)
        do
            end++;
        while (((unsigned char)*end & 0xC0) == 0x80); /* the rest of a character */
    n = tg_label_fit(name, width - 1 - tg_label_width(end), &used);
    snprintf(shown, sizeof shown, "%.*s%s%s", (int)n, name, a->more, end);
    put_above(a, l, h, shown);
}

/* Names of narrow columns, as far apart as they need. */
static void put_ticks(struct ansi *a, const struct heat_layout *l, const heat *h, size_t first, size_t end)
{
    size_t widest = 0;

    for (size_t j = first; j < end; j++)
        widest = tg_size_max(widest, strlen(h->column[j]));
    for (size_t j = first, step = tg_ceil_div(widest + 1, l->cell); j < end; j += step) {
        const size_t width = l->cell * tg_size_min(step, end - j);

        view_field(a->out, strlen(h->column[j]) <= width ? h->column[j] : "", width, "");
    }
}

/* What is compared in some columns: the first tokens, alone or joined, or the others alone. */
static void put_tokens(struct ansi *a, const struct heat_layout *l, const heat *h, size_t first, size_t end,
                       bool others)
{
    char buffer[2][ANSI_TOKEN], both[2 * ANSI_TOKEN];

    ansi_repeat(a, " ", l->margin);
    for (size_t j = first; j < end; j++) {
        const char *token = ansi_visible(a, h->token[j], buffer[0]);
        const char *other = h->other ? ansi_visible(a, h->other[j], buffer[1]) : "";

        snprintf(both, sizeof both, "%s%s", others ? "" : token, others || l->joined ? other : "");
        if (*other != '\0')
            put_compared(a, l, h, both);
        else
            put_above(a, l, h, both);
    }
    ansi_end_line(a);
}

/* Whether some of these columns compare two tokens. */
static bool compares(const heat *h, size_t first, size_t end)
{
    bool any = false;

    for (size_t j = first; h->other && j < end; j++)
        any = any || h->other[j][0] != '\0';
    return any;
}

static void put_titles(struct ansi *a, const struct heat_layout *l, const heat *h, size_t first, size_t end)
{
    view_field(a->out, h->columns_are, l->margin, a->more);
    if (l->compact)
        put_ticks(a, l, h, first, end);
    for (size_t j = first; !l->compact && j < end; j++)
        put_above(a, l, h, h->column[j]);
    ansi_end_line(a);
    if (l->compact || !h->token)
        return;
    put_tokens(a, l, h, first, end, false);
    if (!l->joined && compares(h, first, end))
        put_tokens(a, l, h, first, end, true);
}

static void put_block(struct ansi *a, const struct heat_layout *l, const heat *h, size_t first, size_t end)
{
    put_titles(a, l, h, first, end);
    for (size_t i = 0; i < h->rows; i++) {
        ansi_put_right(a, h->row[i], l->margin);
        for (size_t j = first; j < end; j++)
            put_cell(a, l, h, i, j);
        ansi_end_line(a);
    }
}

/* ---- all of it */

tg_status heat_ansi(const heat *h, tg_sink *out, view_color color, size_t width, tg_err *err)
{
    struct ansi a;
    struct heat_layout l;
    char axes[HEAT_LINE];

    (void)err;
    ansi_begin(&a, out, color, width, h->paper, h->diverges);
    l = lay_out(&a, h);
    if (h->title)
        ansi_put_title(&a, h->title);
    for (size_t first = 0; first < h->columns; first += l.block) {
        if (first > 0)
            ansi_end_line(&a);
        put_block(&a, &l, h, first, tg_size_min(first + l.block, h->columns));
    }
    ansi_put_scale(&a, &h->scale, h->quantity);
    for (size_t n = 0; n < HEAT_LINES; n++)
        if (h->about[n][0] != '\0')
            ansi_put_line(&a, h->about[n]);
    heat_axes(axes, h, !l.compact);
    ansi_put_words(&a, "%s", axes);
    return TG_OK;
}
