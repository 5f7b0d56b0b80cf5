/*
 * colormap: numbers as colours, the same in the terminal, in images and in the page.
 *
 * Perceptually uniform: in OKLab (B. Ottosson, 2020) lightness grows in equal steps from a
 * dark violet to a light yellow, so that equal steps look equal and a grey copy reads the
 * same.
 */
#ifndef TG_VIEW_COLORMAP_H
#define TG_VIEW_COLORMAP_H

#define TG_COLORMAP_SIZE 240 /* steps; the other 16 of a 256-colour palette are inks */

typedef struct tg_rgb {
    unsigned char r, g, b;
} tg_rgb;

void tg_colormap_fill(tg_rgb map[TG_COLORMAP_SIZE]);

/* The same map in the 6x6x6 cube of 256-colour terminals: the nearest colour for each step, with most
 * weight on lightness, so that lightness never decreases. */
void tg_colormap_fill_256(unsigned char map[TG_COLORMAP_SIZE]);

/* The step for x; x outside [0,1] gets the nearest end. */
unsigned tg_colormap_step(double x);

/* The lightness of a colour, 0 to 255: above 128, text on it should be black. */
unsigned tg_rgb_luma(tg_rgb c);

#endif
