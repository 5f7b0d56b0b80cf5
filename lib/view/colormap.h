/*
 * colormap: numbers as colours, the same in the terminal, in images and in the page.
 *
 * Perceptually ordered: in OKLab (B. Ottosson, 2020) lightness grows in equal steps from
 * a dark violet to a light yellow, so that equal steps look equal and a copy in grey reads
 * the same.
 */
#ifndef TG_VIEW_COLORMAP_H
#define TG_VIEW_COLORMAP_H

#define TG_COLORMAP_SIZE 240 /* steps: the rest of a palette of 256 is for ink */

typedef struct tg_rgb {
    unsigned char r, g, b;
} tg_rgb;

void tg_colormap_fill(tg_rgb map[TG_COLORMAP_SIZE]);

/* The same in the 6x6x6 cube of terminals with 256 colours: of each step the nearest one, lightness
 * counting most, so that it never falls. */
void tg_colormap_fill_256(unsigned char map[TG_COLORMAP_SIZE]);

/* The step for x in [0,1]; what is beyond takes the end. */
unsigned tg_colormap_step(double x);

/* The lightness of a colour, 0 to 255: what is written on it is black above 128. */
unsigned tg_rgb_luma(tg_rgb c);

#endif
