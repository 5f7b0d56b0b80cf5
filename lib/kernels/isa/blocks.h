/*
 * blocks: the sizes that the matrix product cuts its operands into.  Another value may be
 * defined beforehand, as the build with tiny blocks does (tests/unit/tiny_blocks.h).
 */
#ifndef TG_KERNELS_BLOCKS_H
#define TG_KERNELS_BLOCKS_H

#include <stddef.h>

/* Measured, not derived: a tile that sums over much k at once stores C seldom, and a tall
 * block of A packs each panel of B seldom, even where both spill from nearer caches. */

/* Words of k of a block, at most; a multiple of PASS_WORDS. */
#ifndef KC_WORDS
#define KC_WORDS ((size_t)768)
#endif

/* Words of k that a float32 sum takes in a row, at most; a multiple of 4.  Such chains are summed by
 * themselves, because the rounding errors of a sum grow with its length: a sum over 768 has half the error.
 */
#ifndef CHAIN_WORDS
#define CHAIN_WORDS ((size_t)128)
#endif

/* Floats of a thread's packed block of A: 32 rows or more, KC_WORDS deep. */
#ifndef A_FLOATS
#define A_FLOATS ((size_t)288 * 1024)
#endif

/* Floats of a thread's packed panels of B: 48 columns or more, KC_WORDS deep. */
#ifndef B_FLOATS
#define B_FLOATS (KC_WORDS * 1536)
#endif

/* The tile unit alone sums over less at a time: a panel of B this deep, a multiple of 16,
 * stays in the first-level cache.  Its sums are kept for a block's rows, fewer the more of
 * k there is, by 32 columns. */
#ifndef PASS_WORDS
#define PASS_WORDS ((size_t)128)
#endif
#define SUMS_FLOATS (A_FLOATS / PASS_WORDS * 32)

#endif
