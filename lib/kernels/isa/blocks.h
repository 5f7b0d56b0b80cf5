/* blocks: the sizes that the matrix product cuts its operands into. */
#ifndef TG_KERNELS_BLOCKS_H
#define TG_KERNELS_BLOCKS_H

#include <stddef.h>

#define KC_WORDS ((size_t)256)        /* words of k of a block: a B panel fills half a first-level cache */
#define A_FLOATS ((size_t)192 * 1024) /* of a packed A block: less than half of a second-level cache */
#define B_FLOATS ((size_t)768 * 1024) /* of a packed B block */
#define COLUMNS ((size_t)64)          /* of the one-row product, at a time */

#endif
