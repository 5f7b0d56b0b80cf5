/* blocks: the sizes that the matrix product cuts its operands into. */
#ifndef TG_KERNELS_BLOCKS_H
#define TG_KERNELS_BLOCKS_H

#include <stddef.h>

/* Measured, not derived: a tile that sums over much k at once stores C seldom, and a tall
 * block of A packs each panel of B seldom, even where both spill from nearer caches. */
#define KC_WORDS ((size_t)768)        /* words of k of a block, at most */
#define A_FLOATS ((size_t)288 * 1024) /* of a thread's packed block of A */
#define B_FLOATS (KC_WORDS * 1536)    /* of a thread's packed panels of B */

/* The tile unit alone sums over less at a time: a panel of B this deep stays in the first-level
 * cache.  Its sums are kept for a block's rows, fewer the more of k there is, by 32 columns. */
#define PART_WORDS ((size_t)128)
#define SUMS_FLOATS (A_FLOATS / PART_WORDS * 32)

#endif
