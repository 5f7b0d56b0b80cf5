/*
 * matmul: the matrix product that everything else stands on.
 *
 *   C[m,n] = sum_k A[m,k] B[k,n]  (+ bias[n])  (+ C[m,n] or add[m,n])
 *   mapped[m,n] = map(C[m,n])     an activation, made while C is still in the cache
 *
 * A and B are strided views, so that transposition is a matter of two numbers:
 * A[m,k] lies at a[m*a_row + k*a_col].  C is row-major with ldc >= N.
 *
 * Without `accumulate` C is overwritten: what it held, NaN included, does not
 * matter.  C overlaps neither A nor B; `add` may be C itself.  M, N, K >= 1.
 * Threads: OpenMP's.  Every C[m,n] is one sum over k in an order that does not
 * depend on the number of threads.  Allocates nothing, cannot fail.
 */
#ifndef TG_KERNELS_MATMUL_H
#define TG_KERNELS_MATMUL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/arena.h"

typedef struct tg_matmul {
    size_t M, N, K;
    const float *a;
    size_t a_row, a_col;
    const float *b;
    size_t b_row, b_col;
    float *c;
    size_t ldc;
    bool accumulate;   /* add to what is in C */
    const float *bias; /* [N], or NULL */
    const float *add;  /* [M,N] with row stride ldc, or NULL */
    void (*map)(float *out, const float *inp, size_t n); /* of n elements, or NULL */
    float *mapped;     /* [M,N] with row stride ldc: where map writes; may be c */
} tg_matmul;

/* What the operands are rounded to before they are multiplied; sums are float32's. */
typedef enum tg_precision {
    TG_PRECISION_FLOAT32,
    TG_PRECISION_BF16 /* where the processor has the instruction: tg_matmul_has() */
} tg_precision;

#define TG_PRECISIONS "float32|bf16" /* their names, in that order */

/* Where operands are packed, of one size for all shapes, and in which precision. */
typedef struct tg_matmul_scratch {
    void *packed;
    size_t threads; /* that there is room for: no more will run */
    tg_precision precision;
} tg_matmul_scratch;

/* Place scratch for products in float32 on omp_get_max_threads() threads (see arena.h);
 * set precision for another. */
void tg_matmul_place(tg_arena *arena, tg_matmul_scratch *scratch);

bool tg_matmul_has(tg_precision precision);

/* The precision must be one that tg_matmul_has(). */
void tg_matmul_run(const tg_matmul *op, const tg_matmul_scratch *scratch);

/* Bytes of scratch->packed for that many threads. */
size_t tg_matmul_work(size_t threads);

#endif
