/*
 * matmul: the matrix product.
 *
 *   C[m,n] = sum_k A[m,k] B[k,n]  (+ bias[n])  (+ C[m,n] or add[m,n])  (* slope(pre[m,n]))
 *   mapped[m,n] = map(C[m,n])     an activation, computed while C is in the cache
 *
 * A and B have two strides each, so a transposed operand needs only other strides:
 * A[m,k] is a[m*a_row + k*a_col].  C is row-major with ldc >= N.
 *
 * An operand or a result is float32, or, in precision bf16, bf16; B may always be bf16, which is widened
 * where precision is float32.  A bf16 C is rounded once, when it is complete, and then mapped; it takes
 * neither `accumulate` nor `add`, and K is at most tg_matmul_depth().
 *
 * Without `accumulate`, C is overwritten and may hold anything before, NaN included.  C
 * overlaps neither A nor B; `add` may be C itself.  M, N, K >= 1.  Uses threads.
 * Every C[m,n] is one sum over k, in an order that does not depend on the number of
 * threads.  Allocates nothing, cannot fail.
 */
#ifndef TG_KERNELS_MATMUL_H
#define TG_KERNELS_MATMUL_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/matrix.h"
#include "lib/tg/machine.h"

typedef struct tg_matmul {
    size_t M, N, K;
    const void *a, *b;
    void *c;
    tg_type a_type, b_type, c_type; /* float32, or in precision bf16 either; b_type always */
    size_t a_row, a_col, b_row, b_col, ldc;
    bool accumulate; /* add to C */
    size_t part; /* k in a part of the sums, of a product that is computed in pieces along k, each of whole
                  * parts: tg_matmul_part() of all; 0: as it is for K.  Not of a bf16 C */
    const float *bias; /* [N], or NULL */
    const float *add;  /* [M,N] with row stride ldc, or NULL */
    /* c[i] *= slope(pre[i]), n elements, or NULL; pre [M,N] with row stride ldc */
    void (*slope)(float *c, const float *pre, size_t n);
    const void *pre;                                     /* of C's type */
    void (*map)(float *out, const float *inp, size_t n); /* of n elements, or NULL */
    void *mapped; /* of C's type, [M,N] with row stride ldc; may be c if that is float32 */
} tg_matmul;

/* Scratch for packed operands, of one size for all shapes, and the precision. */
typedef struct tg_matmul_scratch {
    void *packed;
    size_t threads; /* that the scratch is for, and the most that run */
    tg_precision precision;
} tg_matmul_scratch;

/* Place scratch for tg_threads() threads (see arena.h).  The precision is float32
 * until the caller sets another. */
void tg_matmul_place(tg_arena *arena, tg_matmul_scratch *scratch);

/* The greatest K of a product whose C is bf16. */
size_t tg_matmul_depth(void);

/* Sums over K values of k are sums of parts of so many, the last one shorter; those of one row of A are not.
 * A product in pieces that begin at parts has the bits of the whole. */
size_t tg_matmul_part(size_t K, tg_precision precision);

/* Whether the kernels in use have instructions for precision bf16, and whether it is faster than float32. */
bool tg_matmul_has_bf16(void);
bool tg_matmul_prefers_bf16(void);

void tg_matmul_run(const tg_matmul *op, const tg_matmul_scratch *scratch);

/* Bytes of scratch->packed for so many threads. */
size_t tg_matmul_work(size_t threads);

#endif
