/*
 * png: images with a palette, one byte per pixel.
 *
 * Signature, IHDR (8 bits, colour type 3), PLTE, IDAT ..., IEND.  Rows are not filtered, which suits
 * palettes.  Equal images give equal bytes with the same version of zlib.
 * Source: W3C, Portable Network Graphics, third edition.
 */
#ifndef TG_FORMATS_PNG_H
#define TG_FORMATS_PNG_H

#include <stddef.h>

#include "lib/base/status.h"

#define TG_PNG_SIDE_MAX 0x7fffffff

/* Write pixel [height,width] to fd: indices below `colors` <= 256 into palette [colors], whose entries
 * are red, green, blue.  TG_EUSAGE: no pixels, or too many for the format.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_png_write(int fd, const unsigned char *pixel, size_t width, size_t height,
                                     const unsigned char (*palette)[3], size_t colors, tg_err *err);

#endif
