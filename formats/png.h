/*
 * png: images with a palette, one byte a pixel.
 *
 * Signature, IHDR (8 bits, colour type 3), PLTE, IDAT ..., IEND; rows are not filtered, which suits
 * palettes.  Equal images give equal bytes, with the same zlib.
 * Source: W3C, Portable Network Graphics, third edition.
 */
#ifndef TG_FORMATS_PNG_H
#define TG_FORMATS_PNG_H

#include <stddef.h>

#include "lib/base/status.h"

#define TG_PNG_SIDE_MAX 0x7fffffff

/* Write pixel [height,width], each below `colors` <= 256, to fd; palette [colors] holds red, green
 * and blue.  TG_EUSAGE: no pixels, or too many for the format.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_png_write(int fd, const unsigned char *pixel, size_t width, size_t height,
                                     const unsigned char (*palette)[3], size_t colors, tg_err *err);

#endif
