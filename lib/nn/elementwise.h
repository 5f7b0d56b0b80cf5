/*
 * elementwise: operations on the elements of arrays of any shape.
 *
 * A pass calls these instead of loops of its own.  n >= 0 elements, contiguous.
 * Threads share large arrays (lib/base/threads.h); results do not depend on their number.
 */
#ifndef TG_NN_ELEMENTWISE_H
#define TG_NN_ELEMENTWISE_H

#include <stddef.h>

#include "lib/base/matrix.h"

#define TG_PIECE ((size_t)512) /* values of a bf16 row that an operation has in float32 at a time */

/* x [n] = 0; the same of N rows of doubles or floats. */
void tg_zero(float *x, size_t n);
void tg_zero_rows(tg_matrix m, size_t N);

/* out [n] = inp [n]; they do not overlap. */
void tg_copy(float *out, const float *inp, size_t n);

/* out [n] = a [n] + b [n]; out may be a or b. */
void tg_add(float *out, const float *a, const float *b, size_t n);

/* The mean of x [n], n >= 1: summed in order, in double precision. */
double tg_mean(const float *x, size_t n);

#endif
