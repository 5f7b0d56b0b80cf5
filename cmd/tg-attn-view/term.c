/* view: the abilities of a terminal, and its current colours. */
#include "cmd/tg-attn-view/term.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"

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
    if (!cli_takes_color(fd))
        return VIEW_NEVER;
    if (contains("COLORTERM", "truecolor") || contains("COLORTERM", "24bit") || contains("TERM", "direct"))
        return VIEW_TRUECOLOR;
    return contains("TERM", "256color") ? VIEW_256 : VIEW_NEVER;
}

/* Decide by the locale's name, even if the system lacks that locale: only the terminal matters. */
static bool find_utf8(void)
{
    const char *name = is_set("LC_ALL") ? "LC_ALL" : is_set("LC_CTYPE") ? "LC_CTYPE" : "LANG";

    return contains(name, "UTF-8") || contains(name, "utf8") || contains(name, "UTF8") ||
           contains(name, "utf-8");
}

static size_t find_width(int fd)
{
    const size_t width = cli_terminal_width(fd);
    const char *columns = getenv("COLUMNS");

    if (width > 0)
        return width;
    if (columns && *columns != '\0' && strspn(columns, "0123456789") == strlen(columns) &&
        strlen(columns) < 5)
        return (size_t)strtoul(columns, NULL, 10);
    return 80;
}

/* ---- colours */

static void set_color(view_term *t, bool back, unsigned color)
{
    unsigned *now = back ? &t->bg : &t->fg;

    if (*now == color || t->color == VIEW_NEVER)
        return;
    *now = color;
    if (color == VIEW_NONE)
        view_print(t->out, "\033[%um", back ? 49u : 39u);
    else if (t->color == VIEW_TRUECOLOR)
        view_print(t->out, "\033[%u;2;%u;%u;%um", back ? 48u : 38u, t->rgb[color].r, t->rgb[color].g,
                   t->rgb[color].b);
    else
        view_print(t->out, "\033[%u;5;%um", back ? 48u : 38u, t->index[color]);
}

void view_term_colors(view_term *t, unsigned fg, unsigned bg)
{
    set_color(t, false, fg);
    set_color(t, true, bg);
}

unsigned view_term_ink(const view_term *t, unsigned color)
{
    return tg_rgb_luma(t->rgb[color]) > 128 ? VIEW_BLACK : VIEW_WHITE;
}

void view_term_line(view_term *t)
{
    view_term_colors(t, VIEW_NONE, VIEW_NONE);
    view_put(t->out, "\n", 1);
}

void view_term_begin(view_term *t, view_out *out, view_color color, size_t width, bool diverges)
{
    *t = (view_term){
        .out = out, .color = color, .utf8 = find_utf8(), .width = width, .fg = VIEW_NONE, .bg = VIEW_NONE};
    if (color == VIEW_AUTO)
        t->color = find_color(out->sink.fd);
    if (width == 0)
        t->width = find_width(out->sink.fd);
    tg_colormap_fill(t->rgb, (tg_colormap){.dark = true, .diverges = diverges});
    tg_colormap_fill_256(t->index, diverges);
    for (size_t n = 0; t->color == VIEW_256 && n < TG_COLORMAP_SIZE; n++)
        t->rgb[n] = tg_rgb_of_256(t->index[n]);
    t->rgb[VIEW_BLACK] = (tg_rgb){0, 0, 0};
    t->rgb[VIEW_WHITE] = (tg_rgb){255, 255, 255};
    t->index[VIEW_BLACK] = 16;
    t->index[VIEW_WHITE] = 231;
}
