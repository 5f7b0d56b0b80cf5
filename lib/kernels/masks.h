/*
 * masks: which bytes of a text belong to letters, to numbers, to white space, 64 bytes at a time
 * as the bits of words.  The kernel knows ASCII; whoever knows the other characters completes the
 * masks with them (lib/split/mask_reader.c).
 */
#ifndef TG_KERNELS_MASKS_H
#define TG_KERNELS_MASKS_H

#include <stdint.h>

/* Bit i is byte i of 64.  All bytes of a character have its bit. */
typedef struct tg_masks {
    uint64_t letter, number, space;
    uint64_t other;             /* none of the three; the kernel: any byte above 0x7F too */
    uint64_t upper, lower;      /* of letter */
    uint64_t blank, line;       /* of space: ' '; '\r', '\n' */
    uint64_t apostrophe, slash; /* of other */
    uint64_t high;              /* bytes above 0x7F */
    uint64_t mark;              /* of other: combining marks; the kernel: 0 */
    uint64_t continued;         /* a character's bytes after its first; the kernel: 0 */
} tg_masks;

#endif
