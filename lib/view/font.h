/*
 * font: letters of 5 by 8 dots, drawn for this project: ASCII 0x20 to 0x7e, and a visible
 * blank.
 */
#ifndef TG_VIEW_FONT_H
#define TG_VIEW_FONT_H

#define TG_FONT_WIDTH 5
#define TG_FONT_HEIGHT 8 /* the last row is below the line */
#define TG_FONT_STEP 6   /* from one letter to the next */

#define TG_FONT_BLANK 0x7f

/* The rows of a letter, top to bottom; bit 4 is the leftmost dot.  A box for any other character. */
const unsigned char *tg_font_glyph(char letter);

#endif
