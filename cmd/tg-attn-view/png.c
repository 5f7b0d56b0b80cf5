/* view: the sheet as a PNG image. */
#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/sheet.h"
#include "formats/png.h"

static void fill(const view_sheet *s, size_t x, size_t y, size_t width, size_t height, unsigned ink)
{
    tg_raster_fill(s->canvas, x, y, width, height, ink);
}

static void hatch(const view_sheet *s, size_t x, size_t y, size_t width, size_t height)
{
    tg_raster_hatch(s->canvas, x, y, width, height);
}

static void put_text(const view_sheet *s, size_t x, size_t y, size_t dot, tg_direction direction,
                     unsigned ink, const char *text)
{
    tg_raster_text(s->canvas, x, y, dot, direction, ink, text);
}

tg_status view_png(view *v, int fd, tg_err *err)
{
    view_sheet sheet;
    tg_raster raster;
    tg_status status;

    if ((status = view_sheet_make(&sheet, v, true, err)) ||
        (status = tg_raster_make(&raster, sheet.l.width, sheet.l.height, err)))
        return status;
    raster.palette = sheet.palette;
    sheet.canvas = &raster;
    sheet.fill = fill;
    sheet.hatch = hatch;
    sheet.text = put_text;
    view_sheet_draw(&sheet);
    status = tg_png_write(fd, raster.pixel, raster.width, raster.height,
                          (const unsigned char(*)[3])sheet.palette, TG_INK_END, err);
    tg_raster_free(&raster);
    if (!status && view_sheet_lacks_letters(&sheet))
        cli_note("characters that the PNG's font lacks are shown as \\u....; .svg shows them");
    return status;
}
