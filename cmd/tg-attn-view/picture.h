/*
 * picture: what images are drawn on, as pixels (png.c) or as rectangles and text (svg.c), and their words.
 */
#ifndef TG_CMD_VIEW_PICTURE_H
#define TG_CMD_VIEW_PICTURE_H

#include "cmd/tg-attn-view/view.h"
#include "lib/view/raster.h"

/* All sizes are in pixels. */
typedef struct view_picture {
    size_t width, height;
    tg_rgb palette[TG_INK_END];
    char name[1024];    /* the title */
    bool lacks_letters; /* a PNG image shows some characters as \u.... */
    const void *of;     /* what is drawn, by: */
    void (*draw)(const struct view_picture *p);
    /* What it is drawn on; the arguments, and the inks, are those of lib/view/raster.h. */
    void *canvas;
    tg_raster raster; /* of a PNG image: its canvas */
    void (*fill)(const struct view_picture *p, size_t x, size_t y, size_t width, size_t height, unsigned ink);
    void (*hatch)(const struct view_picture *p, size_t x, size_t y, size_t width, size_t height);
    void (*text)(const struct view_picture *p, size_t x, size_t y, size_t dot, tg_direction direction,
                 unsigned ink, const char *text);
} view_picture;

/* Draw it as a PNG image, written whole to fd; its words are ASCII. */
TG_MUST_CHECK tg_status picture_png(view_picture *p, int fd, tg_err *err);

/* As an SVG image.  Failures to write are kept in out. */
void picture_svg(view_picture *p, tg_sink *out);

#define PICTURE_GAP 12        /* pixels around everything */
#define PICTURE_SCALE_BAR 240 /* pixels of a colour scale: one per step */

/* TG_EUSAGE: it has too many pixels; `advice` says how to have fewer. */
TG_MUST_CHECK tg_status picture_check_size(const view_picture *p, const char *advice, tg_err *err);

/* ---- words, with letters of `dot` pixels a dot */

size_t picture_text_width(size_t dot, size_t letters);
size_t picture_line_height(size_t dot);

/* Copy text as the picture shows it: in ASCII, or as it is. */
void picture_show(char *out, size_t size, bool ascii, const char *text);

/* The same, cut to `columns`, with visible blanks.  Returns the bytes. */
size_t picture_label(char *out, size_t size, bool ascii, size_t columns, const char *text);

bool picture_is_ascii(const char *text);

/* Black or white, whichever is readable on a step of the palette. */
unsigned picture_ink(const view_picture *p, unsigned step);

/* Draw a colour scale with its numbers below, in 2 line heights and a little more. */
void picture_scale(const view_picture *p, size_t x, size_t y, size_t dot, const tg_scale *scale);

#endif
