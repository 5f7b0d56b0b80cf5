/*
 * mask_reader: reads a text as masks (lib/kernels/masks.h) that cover all its characters.
 */
#ifndef TG_SPLIT_MASK_READER_H
#define TG_SPLIT_MASK_READER_H

#include <stddef.h>

#include "lib/kernels/masks.h"

typedef struct tg_mask_reader {
    const unsigned char *next; /* text [n] not yet read */
    size_t n;
    void (*kernel)(tg_masks *masks, const unsigned char *text, size_t words);
    /* for a character cut by the end of the last 64 bytes: how many of its bytes remain; its class */
    unsigned spilled, class;
} tg_mask_reader;

void tg_mask_reader_start(tg_mask_reader *r, const unsigned char *text, size_t n);

/*
 * Write the masks of the next bytes into masks [words], 64 bytes per word; after the text's end all
 * bits are 0.  letter is \p{L} (lower Ll, upper Lu and Lt), number \p{N}, space White_Space, mark
 * \p{M}; a byte that is not part of a character counts as other.
 */
void tg_mask_reader_read(tg_mask_reader *r, tg_masks *masks, size_t words);

#endif
