#include "lib/view/raster.h"

#include <assert.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/view/font.h"

#define HATCH_STEP 6 /* pixels between the lines */
#define SHADES 4     /* of a pixel that a letter covers in part */
#define SAMPLES 4    /* in each direction, by which that is measured */

tg_status tg_raster_make(tg_raster *raster, size_t width, size_t height, tg_err *err)
{
    size_t bytes;

    *raster = (tg_raster){.width = width, .height = height};
    if (!tg_size_mul(&bytes, width, height))
        bytes = SIZE_MAX;
    if (bytes == SIZE_MAX || !(raster->pixel = malloc(bytes)))
        return tg_fail_memory(err, bytes, "an image");
    memset(raster->pixel, TG_INK_PAPER, bytes);
    return TG_OK;
}

void tg_raster_free(tg_raster *raster)
{
    free(raster->pixel);
    *raster = (tg_raster){0};
}

static tg_rgb grey(unsigned char x)
{
    return (tg_rgb){x, x, x};
}

void tg_raster_palette(tg_rgb palette[TG_INK_END], tg_colormap which)
{
    const bool dark = which.dark;

    tg_colormap_fill(palette, which);
    palette[TG_INK_PAPER] = grey(dark ? 22 : 255);
    palette[TG_INK_BLACK] = grey(0);
    palette[TG_INK_WHITE] = grey(255);
    palette[TG_INK_FAINT] = grey(dark ? 160 : 96);
    palette[TG_INK_HATCH] = grey(dark ? 70 : 205);
    palette[TG_INK_MASKED] = grey(dark ? 34 : 242);
    palette[TG_INK_TEXT] = grey(dark ? 235 : 0);
}

void tg_raster_fill(tg_raster *r, size_t x, size_t y, size_t width, size_t height, unsigned ink)
{
    if (x >= r->width || y >= r->height)
        return;
    width = tg_size_min(width, r->width - x);
    height = tg_size_min(height, r->height - y);
    for (size_t line = y; line < y + height; line++)
        memset(r->pixel + line * r->width + x, (int)ink, width);
}

void tg_raster_hatch(tg_raster *r, size_t x, size_t y, size_t width, size_t height)
{
    for (size_t py = y; py < y + height && py < r->height; py++) {
        for (size_t px = x; px < x + width && px < r->width; px++)
            r->pixel[py * r->width + px] = (px + py) % HATCH_STEP == 0 ? TG_INK_HATCH : TG_INK_MASKED;
    }
}

/* ---- text */

/* A line of text: dots of `size` pixels along it, from (x, y). */
struct line {
    tg_raster *raster;
    size_t x, y, size;
    tg_direction direction;
    unsigned ink;
    unsigned char mixed[SHADES + 1][TG_INK_END]; /* the ink over each other one; 0: not found yet */
};

/* The pixel at (along, across) the line; NULL: beyond the image. */
static unsigned char *pixel_at(const struct line *l, size_t along, size_t across)
{
    const bool right = l->direction == TG_RIGHT;
    const size_t x = l->x + (right ? along : across), y = right ? l->y + across : l->y - along;

    return x < l->raster->width && y < l->raster->height ? &l->raster->pixel[y * l->raster->width + x] : NULL;
}

static bool is_lit(const unsigned char *glyph, int column, int row)
{
    return column >= 0 && column < TG_FONT_WIDTH && row >= 0 && row < TG_FONT_HEIGHT &&
           (glyph[row] >> (TG_FONT_WIDTH - 1 - column) & 1);
}

/* Whether a stroke goes from a dot to its neighbour: not across a corner that a third dot fills. */
static bool joins(const unsigned char *glyph, int column, int row, int right, int down)
{
    return is_lit(glyph, column, row) && is_lit(glyph, column + right, row + down) &&
           (right == 0 || down == 0 ||
            (!is_lit(glyph, column + right, row) && !is_lit(glyph, column, row + down)));
}

/* Whether a point is within half a dot of the line from 0 to (right, down). */
static bool is_near(double x, double y, int right, int down)
{
    const double length = right * right + down * down, along = x * right + y * down;
    const double t = along <= 0 ? 0 : along >= length ? 1 : along / length;

    x -= t * right;
    y -= t * down;
    return x * x + y * y <= 0.25;
}

/* Whether a letter's strokes cover a point, in dots. */
static bool covers(const unsigned char *glyph, double x, double y)
{
    static const int ways[][2] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {-1, 1}};
    const int at_column = (int)x, at_row = (int)y;

    for (int row = at_row - 1; row <= at_row + 1; row++) {
        for (int column = at_column - 1; column <= at_column + 1; column++) {
            for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
                if (joins(glyph, column, row, ways[w][0], ways[w][1]) &&
                    is_near(x - column - 0.5, y - row - 0.5, ways[w][0], ways[w][1]))
                    return true;
            }
        }
    }
    return false;
}

/* How much of a pixel a letter covers, 0 to SHADES. */
static unsigned shade_of(const unsigned char *glyph, size_t x, size_t y, size_t size)
{
    unsigned covered = 0;

    for (unsigned row = 0; row < SAMPLES; row++)
        for (unsigned column = 0; column < SAMPLES; column++)
            covered += covers(glyph, ((double)x + (column + 0.5) / SAMPLES) / (double)size,
                              ((double)y + (row + 0.5) / SAMPLES) / (double)size);
    return (covered * SHADES + SAMPLES * SAMPLES / 2) / (SAMPLES * SAMPLES);
}

static unsigned square(unsigned x, unsigned y)
{
    return (x - y) * (x - y); /* also if x < y: unsigned numbers wrap around */
}

/* The ink that is nearest to `ink` over `under`, of which it covers `shade` parts. */
static unsigned char mix(const tg_rgb *palette, unsigned ink, unsigned under, unsigned shade)
{
    const tg_rgb a = palette[ink], b = palette[under];
    const unsigned rest = SHADES - shade, r = (a.r * shade + b.r * rest) / SHADES,
                   g = (a.g * shade + b.g * rest) / SHADES, blue = (a.b * shade + b.b * rest) / SHADES;
    unsigned best = 0, least = UINT_MAX;

    for (unsigned n = 0; n < TG_INK_END; n++) {
        const unsigned d = square(palette[n].r, r) + square(palette[n].g, g) + square(palette[n].b, blue);

        if (d < least) {
            least = d;
            best = n;
        }
    }
    return (unsigned char)best;
}

static void put_shade(struct line *l, unsigned char *pixel, unsigned shade)
{
    unsigned char *found = &l->mixed[shade][*pixel];

    if (shade == SHADES)
        *found = (unsigned char)l->ink;
    else if (*found == 0)
        *found = mix(l->raster->palette, l->ink, *pixel, shade);
    *pixel = *found;
}

static void put_letter(struct line *l, const unsigned char *glyph, size_t first)
{
    const size_t size = l->size;
    const bool smooth = l->raster->palette && size > 1;

    assert(size > 0);
    for (size_t across = 0; across < TG_FONT_HEIGHT * size; across++) {
        for (size_t along = 0; along < TG_FONT_WIDTH * size; along++) {
            unsigned char *pixel = pixel_at(l, first + along, across);
            unsigned shade = 0;

            if (pixel && smooth)
                shade = shade_of(glyph, along, across, size);
            else if (pixel && is_lit(glyph, (int)(along / size), (int)(across / size)))
                shade = SHADES;
            if (shade > 0)
                put_shade(l, pixel, shade);
        }
    }
}

void tg_raster_text(tg_raster *r, size_t x, size_t y, size_t size, tg_direction direction, unsigned ink,
                    const char *text)
{
    struct line l = {.raster = r, .x = x, .y = y, .size = size, .direction = direction, .ink = ink};

    for (size_t first = 0; *text != '\0'; text++, first += TG_FONT_STEP * size)
        put_letter(&l, tg_font_glyph(*text), first);
}
