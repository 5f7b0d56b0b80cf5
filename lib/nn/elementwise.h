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

/* x [n] = 0; the same of N rows of doubles or floats. */
void tg_zero(float *x, size_t n);
void tg_zero_rows(tg_matrix m, size_t N);

/* out [n] = inp [n]; they do not overlap. */
void tg_copy(float *out, const float *inp, size_t n);

/* out [n] = a [n] + b [n]; out may be a or b. */
void tg_add(float *out, const float *a, const float *b, size_t n);

/* The same of N rows, all float or all double. */
void tg_add_rows(tg_matrix out, tg_matrix a, tg_matrix b, size_t N);

/* out = inp, N rows: rounded to bf16, widened, or as they are; both double, or neither.  They do not
 * overlap. */
void tg_copy_rows(tg_matrix out, tg_matrix inp, size_t N);

/* The mean of x [n], n >= 1: summed in order, in double precision. */
double tg_mean(const float *x, size_t n);

#endif
