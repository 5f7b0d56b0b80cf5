/*
 * transpose: a VL x VL block of floats, in registers.
 *
 * log2(VL) stages.  Each exchanges blocks between pairs of rows: a matrix of blocks
 * [a b; c d] becomes [a c; b d].  The next stage transposes inside the blocks, which
 * are half the size.
 */
#ifndef TG_KERNELS_TRANSPOSE_H
#define TG_KERNELS_TRANSPOSE_H

#include "lib/kernels/isa/isa.h"

/* One stage on rows i and i + s: the even blocks of both, then the odd blocks. */
#define EXCHANGE(s, even, odd)                                                                               \
    for (size_t i = 0; i < VL; i++)                                                                          \
        if ((i & (s)) == 0) {                                                                                \
            vf a = row[i], b = row[i + (s)];                                                                 \
            row[i] = __builtin_shufflevector(a, b, LIST even);                                               \
            row[i + (s)] = __builtin_shufflevector(a, b, LIST odd);                                          \
        }
#define LIST(...) __VA_ARGS__

INLINE void transpose(vf row[VL])
{
#if VL == 16
    EXCHANGE(8, (0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
             (8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31))
    EXCHANGE(4, (0, 1, 2, 3, 16, 17, 18, 19, 8, 9, 10, 11, 24, 25, 26, 27),
             (4, 5, 6, 7, 20, 21, 22, 23, 12, 13, 14, 15, 28, 29, 30, 31))
    EXCHANGE(2, (0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29),
             (2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31))
    EXCHANGE(1, (0, 16, 2, 18, 4, 20, 6, 22, 8, 24, 10, 26, 12, 28, 14, 30),
             (1, 17, 3, 19, 5, 21, 7, 23, 9, 25, 11, 27, 13, 29, 15, 31))
#elif VL == 8
    EXCHANGE(4, (0, 1, 2, 3, 8, 9, 10, 11), (4, 5, 6, 7, 12, 13, 14, 15))
    EXCHANGE(2, (0, 1, 8, 9, 4, 5, 12, 13), (2, 3, 10, 11, 6, 7, 14, 15))
    EXCHANGE(1, (0, 8, 2, 10, 4, 12, 6, 14), (1, 9, 3, 11, 5, 13, 7, 15))
#else
    EXCHANGE(2, (0, 1, 4, 5), (2, 3, 6, 7))
    EXCHANGE(1, (0, 4, 2, 6), (1, 5, 3, 7))
#endif
}

#endif
