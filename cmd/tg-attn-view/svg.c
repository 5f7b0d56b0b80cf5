/* view: the sheet as an SVG image: rectangles and text, which stay sharp at any size. */
#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/sheet.h"
#include "lib/view/font.h"
#include "lib/view/label.h"

#define FONT_SIZE 10  /* dots, so that a monospaced font's letters are about TG_FONT_STEP wide, */
#define BASELINE 7    /* dots from the top, and capitals as high as TG_FONT_HEIGHT's */
#define HATCH_STEP 6  /* pixels between the lines, as in lib/view/raster.c */
#define HATCH_LINE .7 /* pixels: as wide as there, across a diagonal line */

/* The attribute for an ink. */
static void put_ink(const view_sheet *s, const char *name, unsigned ink)
{
    const tg_rgb c = s->palette[ink];

    tg_sink_print(s->canvas, " %s=\"#%02x%02x%02x\"", name, c.r, c.g, c.b);
}

static void put_rectangle(const view_sheet *s, size_t x, size_t y, size_t width, size_t height)
{
    tg_sink_print(s->canvas, "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"", x, y, width, height);
}

static void fill(const view_sheet *s, size_t x, size_t y, size_t width, size_t height, unsigned ink)
{
    put_rectangle(s, x, y, width, height);
    put_ink(s, "fill", ink);
    tg_sink_print(s->canvas, "/>\n");
}

static void hatch(const view_sheet *s, size_t x, size_t y, size_t width, size_t height)
{
    put_rectangle(s, x, y, width, height);
    tg_sink_print(s->canvas, " fill=\"url(#masked)\"/>\n");
}

/* The width is given, so that labels end where they should in any font. */
static void put_text(const view_sheet *s, size_t x, size_t y, size_t dot, tg_direction direction,
                     unsigned ink, const char *text)
{
    if (*text == '\0')
        return;
    if (direction == TG_RIGHT)
        tg_sink_print(s->canvas, "<text x=\"%zu\" y=\"%zu\"", x, y + BASELINE * dot);
    else
        tg_sink_print(s->canvas, "<text transform=\"translate(%zu %zu) rotate(-90)\"", x + BASELINE * dot,
                      y + 1);
    tg_sink_print(s->canvas, " font-size=\"%zu\" textLength=\"%zu\" lengthAdjust=\"spacingAndGlyphs\"",
                  FONT_SIZE * dot, tg_label_width(text) * TG_FONT_STEP * dot);
    put_ink(s, "fill", ink);
    tg_sink_put(s->canvas, ">", 1);
    cli_put_xml(s->canvas, text);
    tg_sink_print(s->canvas, "</text>\n");
}

/* Define what masked cells are filled with: lines from the lower left to the upper right. */
static void put_hatch(const view_sheet *s)
{
    tg_sink_print(s->canvas,
                  "<pattern id=\"masked\" width=\"%d\" height=\"%d\" patternUnits=\"userSpaceOnUse\">",
                  HATCH_STEP, HATCH_STEP);
    tg_sink_print(s->canvas, "<path d=\"M0 0h%dv%dH0\"", HATCH_STEP, HATCH_STEP);
    put_ink(s, "fill", TG_INK_MASKED);
    tg_sink_print(s->canvas, "/><path d=\"M-1 2L2 -1M0 %dL%d 0\" stroke-width=\"%.1f\"", HATCH_STEP + 1,
                  HATCH_STEP + 1, HATCH_LINE);
    tg_sink_print(s->canvas, " shape-rendering=\"auto\"");
    put_ink(s, "stroke", TG_INK_HATCH);
    tg_sink_print(s->canvas, "/></pattern>\n");
}

static void put_head(const view_sheet *s)
{
    const size_t width = s->l.width, height = s->l.height;

    tg_sink_print(
        s->canvas,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" ",
        width, height, width, height);
    tg_sink_print(s->canvas, "font-family=\"monospace\" shape-rendering=\"crispEdges\">\n<title>");
    cli_put_xml(s->canvas, s->name);
    tg_sink_print(s->canvas, "</title>\n");
    put_hatch(s);
}

tg_status view_svg(view *v, tg_sink *out, tg_err *err)
{
    view_sheet s;
    tg_status status;

    if ((status = view_sheet_make(&s, v, false, err)))
        return status;
    s.canvas = out;
    s.fill = fill;
    s.hatch = hatch;
    s.text = put_text;
    put_head(&s);
    fill(&s, 0, 0, s.l.width, s.l.height, TG_INK_PAPER);
    view_sheet_draw(&s);
    tg_sink_print(out, "</svg>\n");
    return TG_OK;
}
