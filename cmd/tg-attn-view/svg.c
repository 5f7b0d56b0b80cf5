/* view: a picture as an SVG image: rectangles and text, which stay sharp at any size. */
#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/picture.h"
#include "lib/view/font.h"
#include "lib/view/label.h"

#define FONT_SIZE 10  /* dots, so that a monospaced font's letters are about TG_FONT_STEP wide, */
#define BASELINE 7    /* dots from the top, and capitals as high as TG_FONT_HEIGHT's */
#define HATCH_STEP 6  /* pixels between the lines, as in lib/view/raster.c */
#define HATCH_LINE .7 /* pixels: as wide as there, across a diagonal line */

/* The attribute for an ink. */
static void put_ink(const view_picture *p, const char *name, unsigned ink)
{
    const tg_rgb c = p->palette[ink];

    tg_sink_print(p->canvas, " %s=\"#%02x%02x%02x\"", name, c.r, c.g, c.b);
}

static void put_rectangle(const view_picture *p, size_t x, size_t y, size_t width, size_t height)
{
    tg_sink_print(p->canvas, "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"", x, y, width, height);
}

static void fill(const view_picture *p, size_t x, size_t y, size_t width, size_t height, unsigned ink)
{
    put_rectangle(p, x, y, width, height);
    put_ink(p, "fill", ink);
    tg_sink_print(p->canvas, "/>\n");
}

static void hatch(const view_picture *p, size_t x, size_t y, size_t width, size_t height)
{
    put_rectangle(p, x, y, width, height);
    tg_sink_print(p->canvas, " fill=\"url(#masked)\"/>\n");
}

/* The width is given, so that labels end where they should in any font. */
static void put_text(const view_picture *p, size_t x, size_t y, size_t dot, tg_direction direction,
                     unsigned ink, const char *text)
{
    if (*text == '\0')
        return;
    if (direction == TG_RIGHT)
        tg_sink_print(p->canvas, "<text x=\"%zu\" y=\"%zu\"", x, y + BASELINE * dot);
    else
        tg_sink_print(p->canvas, "<text transform=\"translate(%zu %zu) rotate(-90)\"", x + BASELINE * dot,
                      y + 1);
    tg_sink_print(p->canvas, " font-size=\"%zu\" textLength=\"%zu\" lengthAdjust=\"spacingAndGlyphs\"",
                  FONT_SIZE * dot, tg_label_width(text) * TG_FONT_STEP * dot);
    put_ink(p, "fill", ink);
    tg_sink_put(p->canvas, ">", 1);
    cli_put_xml(p->canvas, text);
    tg_sink_print(p->canvas, "</text>\n");
}

/* Define what masked cells are filled with: lines from the lower left to the upper right. */
static void put_hatch(const view_picture *p)
{
    tg_sink_print(p->canvas,
                  "<pattern id=\"masked\" width=\"%d\" height=\"%d\" patternUnits=\"userSpaceOnUse\">",
                  HATCH_STEP, HATCH_STEP);
    tg_sink_print(p->canvas, "<path d=\"M0 0h%dv%dH0\"", HATCH_STEP, HATCH_STEP);
    put_ink(p, "fill", TG_INK_MASKED);
    tg_sink_print(p->canvas, "/><path d=\"M-1 2L2 -1M0 %dL%d 0\" stroke-width=\"%.1f\"", HATCH_STEP + 1,
                  HATCH_STEP + 1, HATCH_LINE);
    tg_sink_print(p->canvas, " shape-rendering=\"auto\"");
    put_ink(p, "stroke", TG_INK_HATCH);
    tg_sink_print(p->canvas, "/></pattern>\n");
}

static void put_head(const view_picture *p)
{
    const size_t width = p->width, height = p->height;

    tg_sink_print(
        p->canvas,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" ",
        width, height, width, height);
    tg_sink_print(p->canvas, "font-family=\"monospace\" shape-rendering=\"crispEdges\">\n<title>");
    cli_put_xml(p->canvas, p->name);
    tg_sink_print(p->canvas, "</title>\n");
    put_hatch(p);
}

void picture_svg(view_picture *p, tg_sink *out)
{
    p->canvas = out;
    p->fill = fill;
    p->hatch = hatch;
    p->text = put_text;
    put_head(p);
    fill(p, 0, 0, p->width, p->height, TG_INK_PAPER);
    p->draw(p);
    tg_sink_print(out, "</svg>\n");
}
