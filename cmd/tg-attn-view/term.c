/* view: the abilities of a terminal, and its current colours. */
#include "cmd/tg-attn-view/ansi.h"

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

/* COLORFGBG ends with the number of the background's colour, of the first 16: 7 is light grey, 15 white. */
static bool find_dark(void)
{
    const char *colors = getenv("COLORFGBG"), *back = colors ? strrchr(colors, ';') : NULL;

    return !back || (strcmp(back, ";7") != 0 && strcmp(back, ";15") != 0);
}

/* ---- colours */

static void set_color(struct ansi *a, bool back, unsigned color)
{
    unsigned *now = back ? &a->bg : &a->fg;

    if (*now == color || a->color == VIEW_NEVER)
        return;
    *now = color;
    if (color == ANSI_NONE)
        tg_sink_print(a->out, "\033[%um", back ? 49u : 39u);
    else if (a->color == VIEW_TRUECOLOR)
        tg_sink_print(a->out, "\033[%u;2;%u;%u;%um", back ? 48u : 38u, a->rgb[color].r, a->rgb[color].g,
                      a->rgb[color].b);
    else
        tg_sink_print(a->out, "\033[%u;5;%um", back ? 48u : 38u, a->index[color]);
}

void ansi_colors(struct ansi *a, unsigned fg, unsigned bg)
{
    set_color(a, false, fg);
    set_color(a, true, bg);
}

unsigned ansi_ink(const struct ansi *a, unsigned color)
{
    return tg_rgb_luma(a->rgb[color]) > 128 ? ANSI_BLACK : ANSI_WHITE;
}

void ansi_end_line(struct ansi *a)
{
    ansi_colors(a, ANSI_NONE, ANSI_NONE);
    tg_sink_put(a->out, "\n", 1);
}

void ansi_begin(struct ansi *a, tg_sink *out, view_color color, size_t width, view_paper paper, bool diverges)
{
    const tg_colormap map = {.dark = paper == VIEW_DARK || (paper == VIEW_PAPER_AUTO && find_dark()),
                             .diverges = diverges};
    const bool utf8 = find_utf8();

    *a = (struct ansi){.out = out,
                       .color = color == VIEW_AUTO ? find_color(out->fd) : color,
                       .utf8 = utf8,
                       .width = width == 0 ? find_width(out->fd) : width,
                       .fg = ANSI_NONE,
                       .bg = ANSI_NONE,
                       .more = utf8 ? "…" : "~",
                       .blank = utf8 ? "·" : "_"};
    tg_colormap_fill(a->rgb, map);
    tg_colormap_fill_256(a->index, map);
    for (size_t n = 0; a->color == VIEW_256 && n < TG_COLORMAP_SIZE; n++)
        a->rgb[n] = tg_rgb_of_256(a->index[n]);
    a->rgb[ANSI_BLACK] = (tg_rgb){0, 0, 0};
    a->rgb[ANSI_WHITE] = (tg_rgb){255, 255, 255};
    a->index[ANSI_BLACK] = 16;
    a->index[ANSI_WHITE] = 231;
}
