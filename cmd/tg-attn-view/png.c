/* view: a picture as a PNG image. */
#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/picture.h"
#include "formats/png.h"

static void fill(const view_picture *p, size_t x, size_t y, size_t width, size_t height, unsigned ink)
{
    tg_raster_fill(p->canvas, x, y, width, height, ink);
}

static void hatch(const view_picture *p, size_t x, size_t y, size_t width, size_t height)
{
    tg_raster_hatch(p->canvas, x, y, width, height);
}

static void put_text(const view_picture *p, size_t x, size_t y, size_t dot, tg_direction direction,
                     unsigned ink, const char *text)
{
    tg_raster_text(p->canvas, x, y, dot, direction, ink, text);
}

tg_status picture_png(view_picture *p, int fd, tg_err *err)
{
    tg_raster *raster = &p->raster;
    tg_status status = tg_raster_make(raster, p->width, p->height, err);

    if (status)
        return status;
    raster->palette = p->palette;
    p->canvas = raster;
    p->fill = fill;
    p->hatch = hatch;
    p->text = put_text;
    p->draw(p);
    status = tg_png_write(fd, raster->pixel, raster->width, raster->height,
                          (const unsigned char(*)[3])p->palette, TG_INK_END, err);
    tg_raster_free(raster);
    if (!status && p->lacks_letters)
        cli_note("characters that the PNG's font lacks are shown as \\u....; .svg shows them");
    return status;
}
