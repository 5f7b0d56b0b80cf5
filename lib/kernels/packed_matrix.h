/*
 * weights: the right-hand side of many products, kept in the order in which it is read,
 * in float32 or rounded to bf16.  For decoding, which reads all weights for a few rows.
 *
 *   C[m,n] = sum_k A[m,k] B[k,n]  (+ bias[n])  (+ C[m,n] or add[m,n])
 *
 * A and the sums are float32, so that any processor can do it.  Every C[m,n] is one sum
 * in ascending k: it depends neither on M nor on the number of threads.
 */
#ifndef TG_KERNELS_PACKED_MATRIX_H
#define TG_KERNELS_PACKED_MATRIX_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/kernels/matmul.h"

/* The largest magnitude that bf16 has a finite value for: what lies above is rounded to
 * infinity. */
#define TG_BF16_MAX 0x1.fefffep127f

/* For the kernels in use when it was packed: tg_kernels_choose() comes before. */
typedef struct tg_packed_matrix {
    size_t K, N; /* >= 1 */
    tg_precision precision; /* either, on any processor: tg_matmul_has() does not matter */
    void *panels;           /* the arena's */
} tg_packed_matrix;

/* Place room for a matrix [K,N] in an arena (see arena.h): 4 bytes or, in bf16, 2 an element,
 * N rounded up to a multiple of 32. */
void tg_packed_matrix_place(tg_arena *arena, tg_packed_matrix *w, size_t K, size_t N, tg_precision precision);

/*
 * Keep B[k,n] = b[k*b_row + n*b_col], finite; bf16 is rounded to nearest, ties to even, and
 * must not lie beyond TG_BF16_MAX.  b [K,N] is not needed again.  Threads: OpenMP's.
 */
void tg_packed_matrix_pack(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col);

/*
 * The product that op describes, with w in place of b, b_row and b_col; op->K and op->N are
 * w's, a_col is 1 (both asserted), M >= 1.  The rest, aliasing included, is as in matmul.h:
 * map runs on up to 32 elements of a row at a time.  Threads: OpenMP's, each for panels of
 * columns of its own; several callers may use the same w.  Allocates nothing, cannot fail.
 */
void tg_packed_matrix_run(const tg_matmul *op, const tg_packed_matrix *w);

#endif
