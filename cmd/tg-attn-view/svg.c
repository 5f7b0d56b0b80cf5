/* view: the sheet as an SVG image: rectangles and text, which stay sharp at any size. */
#include <string.h>

#include "cmd/tg-attn-view/sheet.h"
#include "lib/view/font.h"
#include "lib/view/label.h"

#define FONT_SIZE 10  /* dots, so that a monospaced font's letters are about TG_FONT_STEP wide, */
#define BASELINE 7    /* dots from the top, and capitals as high as TG_FONT_HEIGHT's */
#define HATCH_STEP 6  /* pixels between the lines, as in lib/view/raster.c */
#define HATCH_LINE .7 /* pixels: as wide as there, across a diagonal line */

struct svg {
    view_out *out;
    const tg_rgb *palette;
};

/* What stands for the character at `text` in XML, and in *n its bytes; NULL: it stands for itself.  A label
 * has no control characters (lib/view/label.h); of all others XML lacks two, for which U+FFFD stands. */
static const char *escape(const char *text, size_t *n)
{
    static const char *const escapes[][2] = {
        {"<", "&lt;"},
        {">", "&gt;"},
        {"&", "&amp;"},
        {"\"", "&quot;"},
        {"\xEF\xBF\xBE", "\xEF\xBF\xBD"},
        {"\xEF\xBF\xBF", "\xEF\xBF\xBD"},
    };

    for (size_t i = 0; i < sizeof escapes / sizeof escapes[0]; i++) {
        *n = strlen(escapes[i][0]);
        if (strncmp(text, escapes[i][0], *n) == 0)
            return escapes[i][1];
    }
    *n = 1;
    return NULL;
}

static void put_escaped(view_out *out, const char *text)
{
    for (size_t n; *text != '\0'; text += n) {
        const char *escaped = escape(text, &n);

        view_put(out, escaped ? escaped : text, escaped ? strlen(escaped) : 1);
    }
}

/* The attribute for an ink. */
static void put_ink(const struct svg *svg, const char *name, unsigned ink)
{
    const tg_rgb c = svg->palette[ink];

    view_print(svg->out, " %s=\"#%02x%02x%02x\"", name, c.r, c.g, c.b);
}

static void put_rectangle(view_out *out, size_t x, size_t y, size_t width, size_t height)
{
    view_print(out, "<rect x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%zu\"", x, y, width, height);
}

static void fill(void *to, size_t x, size_t y, size_t width, size_t height, unsigned ink)
{
    const struct svg *svg = to;

    put_rectangle(svg->out, x, y, width, height);
    put_ink(svg, "fill", ink);
    view_print(svg->out, "/>\n");
}

static void hatch(void *to, size_t x, size_t y, size_t width, size_t height)
{
    const struct svg *svg = to;

    put_rectangle(svg->out, x, y, width, height);
    view_print(svg->out, " fill=\"url(#masked)\"/>\n");
}

/* The width is given, so that labels end where they should in any font. */
static void put_text(void *to, size_t x, size_t y, size_t dot, tg_direction direction, unsigned ink,
                     const char *text)
{
    const struct svg *svg = to;

    if (*text == '\0')
        return;
    if (direction == TG_RIGHT)
        view_print(svg->out, "<text x=\"%zu\" y=\"%zu\"", x, y + BASELINE * dot);
    else
        view_print(svg->out, "<text transform=\"translate(%zu %zu) rotate(-90)\"", x + BASELINE * dot, y + 1);
    view_print(svg->out, " font-size=\"%zu\" textLength=\"%zu\" lengthAdjust=\"spacingAndGlyphs\"",
               FONT_SIZE * dot, tg_label_width(text) * TG_FONT_STEP * dot);
    put_ink(svg, "fill", ink);
    view_put(svg->out, ">", 1);
    put_escaped(svg->out, text);
    view_print(svg->out, "</text>\n");
}

/* Define what masked cells are filled with: lines from the lower left to the upper right. */
static void put_hatch(const struct svg *svg)
{
    view_print(svg->out, "<pattern id=\"masked\" width=\"%d\" height=\"%d\" patternUnits=\"userSpaceOnUse\">",
               HATCH_STEP, HATCH_STEP);
    view_print(svg->out, "<path d=\"M0 0h%dv%dH0\"", HATCH_STEP, HATCH_STEP);
    put_ink(svg, "fill", TG_INK_MASKED);
    view_print(svg->out, "/><path d=\"M-1 2L2 -1M0 %dL%d 0\" stroke-width=\"%.1f\"", HATCH_STEP + 1,
               HATCH_STEP + 1, HATCH_LINE);
    view_print(svg->out, " shape-rendering=\"auto\"");
    put_ink(svg, "stroke", TG_INK_HATCH);
    view_print(svg->out, "/></pattern>\n");
}

static void put_head(const struct svg *svg, const view_sheet *sheet)
{
    const size_t width = sheet->l.width, height = sheet->l.height;

    view_print(
        svg->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%zu\" viewBox=\"0 0 %zu %zu\" ",
        width, height, width, height);
    view_print(svg->out, "font-family=\"monospace\" shape-rendering=\"crispEdges\">\n<title>");
    put_escaped(svg->out, sheet->name);
    view_print(svg->out, "</title>\n");
    put_hatch(svg);
}

tg_status view_svg(view *v, view_out *out, tg_err *err)
{
    view_sheet sheet;
    struct svg svg = {out, sheet.palette};
    tg_status status = view_sheet_make(&sheet, v, false, err);

    if (status)
        return status;
    put_head(&svg, &sheet);
    fill(&svg, 0, 0, sheet.l.width, sheet.l.height, TG_INK_PAPER);
    view_sheet_draw(&sheet, &(view_canvas){&svg, fill, hatch, put_text});
    view_print(out, "</svg>\n");
    return TG_OK;
}
