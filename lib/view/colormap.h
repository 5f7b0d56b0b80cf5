/*
 * colormap: numbers as colours, the same in the terminal, in images and in the page.
 *
 * A map begins near the paper that it is drawn on, so that small numbers stay quiet, and moves away from
 * it: on dark paper it grows lighter, on light paper darker.  Lightness changes in equal steps in OKLab
 * (B. Ottosson, 2020), so that equal steps look equal and a grey copy reads the same.
 *
 * A map that diverges has the paper's colour in its middle, for 0, and departs from there to two hues:
 * blue for negative numbers, orange for positive ones.
 */
#ifndef TG_VIEW_COLORMAP_H
#define TG_VIEW_COLORMAP_H

#include <stdbool.h>

#define TG_COLORMAP_SIZE 240 /* steps; the other 16 of a 256-colour palette are inks */

typedef struct tg_rgb {
    unsigned char r, g, b;
} tg_rgb;

typedef struct tg_colormap {
    bool dark;     /* the paper is */
    bool diverges; /* from the middle */
} tg_colormap;

void tg_colormap_fill(tg_rgb map[TG_COLORMAP_SIZE], tg_colormap which);

/* A map in the colours of 256-colour terminals: a walk through the 6x6x6 cube that begins at a grey near the
 * paper, in which each colour differs from the one before by one level of one or two channels, so that the
 * ramp is smooth; each gets as many steps as it looks different from its neighbours. */
void tg_colormap_fill_256(unsigned char map[TG_COLORMAP_SIZE], tg_colormap which);

/* One of the cube's colours, or of the greys after it: 16 to 255. */
tg_rgb tg_rgb_of_256(unsigned char color);

/* The step for x; x outside [0,1] gets the nearest end. */
unsigned tg_colormap_step(double x);

/* The lightness of a colour, 0 to 255: above 128, text on it should be black. */
unsigned tg_rgb_luma(tg_rgb c);

#endif
