/*
 * masks: which bytes of a text belong to letters, to numbers, to white space: 64 bytes at a time
 * as the bits of words, so that the rules of lib/text/split.h are a few operations on words.
 */
#ifndef TG_TEXT_MASKS_H
#define TG_TEXT_MASKS_H

#include <stddef.h>
#include <stdint.h>

/* Bit i is byte i of 64.  All bytes of a character have its bit. */
typedef struct tg_masks {
    uint64_t letter, number, space; /* \p{L}, \p{N}, White_Space */
    uint64_t other;                 /* any other character, and each byte that is part of none */
    uint64_t lower, upper;          /* of letter: Ll; Lu, Lt */
    uint64_t mark;                  /* of other: \p{M} */
    uint64_t continued;             /* a character's bytes after its first */
    uint64_t blank, line;           /* of space: ' '; '\r', '\n' */
    uint64_t apostrophe, slash;     /* of other */
} tg_masks;

typedef struct tg_masks_reader {
    const unsigned char *next; /* text [n] that is still to be read */
    size_t n;
    /* what the bytes are, as far as characters reach: those from [64] on belong to the next 64 */
    unsigned char flags[64 + 3];
    unsigned spilled; /* how many those are */
} tg_masks_reader;

void tg_masks_start(tg_masks_reader *r, const unsigned char *text, size_t n);

/* The masks of the next bytes into m [words], 64 for each word; beyond the text's end all bits
 * are 0. */
void tg_masks_read(tg_masks_reader *r, tg_masks *m, size_t words);

#endif
