/*
 * packed_matrix: the right-hand side of many products, stored in the order in which it is
 * read, in float32, bf16 or int8.  For decoding, which reads all weights for a few rows.
 *
 *   C[m,n] = scale[n] sum_k A[m,k] B[k,n]  (+ bias[n])  (+ C[m,n] or add[m,n])
 *
 * A and the sums are float32, so the other types need no instructions of their own.  scale
 * is 1, except for int8.  Every sum is one in ascending k: C[m,n] depends neither on M nor
 * on the number of threads.
 */
#ifndef TG_KERNELS_PACKED_MATRIX_H
#define TG_KERNELS_PACKED_MATRIX_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/kernels/matmul.h"
#include "lib/tg/machine.h"

/* The largest magnitude that rounds to a finite bf16. */
#define TG_BF16_MAX 0x1.fefffep127f

/* The layout is that of the kernels in use when it was packed: call tg_kernels_choose() before. */
typedef struct tg_packed_matrix {
    size_t K, N; /* >= 1 */
    tg_weight_type type;
    void *panels;  /* owned by the arena */
    float *scales; /* [N rounded up] for int8, owned by the arena; otherwise NULL */
} tg_packed_matrix;

/* Place a matrix [K,N] in an arena (see arena.h): 4, 2 or 1 bytes per element, with N rounded
 * up to a multiple of 64. */
void tg_packed_matrix_place(tg_arena *arena, tg_packed_matrix *w, size_t K, size_t N, tg_weight_type type);

/*
 * Pack B[k,n] = b[k*b_row + n*b_col], which must be finite, and for bf16 at most TG_BF16_MAX.
 * A column's scale in int8 is its largest magnitude / 127; if that is below 2^-126, the scale
 * and the column are 0.  b is not used afterwards.  Uses threads.
 */
void tg_packed_matrix_pack(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col);

/*
 * The product that op describes, with w instead of b, b_row and b_col.  op->K and op->N are
 * those of w, and a_col is 1 (asserted); M >= 1.  Everything else, aliasing included, is as in
 * matmul.h; map gets up to 64 elements of a row per call.  Uses threads, each for its own
 * columns; several callers may share w.  Allocates nothing, cannot fail.
 */
void tg_packed_matrix_run(const tg_matmul *op, const tg_packed_matrix *w);

#endif
