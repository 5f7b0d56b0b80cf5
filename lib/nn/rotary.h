/*
 * rotary: rotate pairs of each head's channels by an angle that grows with the position.
 *
 *   a, b = inp[n,h,i], inp[n,h,i + d/2]        for i < d/2, the angle (n, i) being that of row n's position
 *   out[n,h,i]       = a cos - b sin
 *   out[n,h,i + d/2] = b cos + a sin
 *   out[n,h,i]       = inp[n,h,i]              for d <= i < D
 *
 * Source: Su et al. 2021, arXiv:2104.09864.  Reference: tg_rotary_*_ref.
 */
#ifndef TG_NN_ROTARY_H
#define TG_NN_ROTARY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/matrix.h"

typedef struct tg_rotary {
    tg_matrix angles; /* [T,d]: the cosines of a position's d/2 angles, then their sines; float, or double for
                       * matrices of double */
    size_t T;         /* row n is at position n mod T of `angles`, unless there are positions */
    size_t D;         /* channels of a head, at least d */
    const int32_t *positions; /* [N] of each row; NULL: none */
} tg_rotary;

/* Fill a pair's columns of a table, i < d/2, for the positions first .. first+T-1: the angles are position
 * times frequency, computed in double precision. */
void tg_rotary_fill(tg_matrix angles, size_t i, double frequency, size_t first, size_t T);

/* out, inp [N,H*D] of one type; out may be inp. */
void tg_rotary_forward(tg_matrix out, tg_matrix inp, const tg_rotary *rotary, size_t N);

/* dinp = dout rotated back: written.  dinp may be dout. */
void tg_rotary_backward(tg_matrix dinp, tg_matrix dout, const tg_rotary *rotary, size_t N);

#endif
