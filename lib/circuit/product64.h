/*
 * product64: the matrix product in double precision.
 *
 *   c[m,n] += sum_k a[m,k] b[k,n]
 *
 * a[m,k] is at m*a_row + k*a_col, b[k,n] at k*b_row + n*b_col, so that a transposed operand needs only other
 * strides; c is row-major with ldc >= N.  a and b are float or double; float is widened first.  Each c[m,n]
 * is one sum in the order of k, in steps of a fixed length, whatever the number of threads and the
 * instruction set.  c overlaps neither a nor b.  Allocates nothing; cannot fail.
 */
#ifndef TG_CIRCUIT_PRODUCT64_H
#define TG_CIRCUIT_PRODUCT64_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/matrix.h"

typedef struct tg_product64 {
    size_t M, N, K;
    const void *a, *b;
    tg_type a_type, b_type; /* TG_TYPE_FLOAT or TG_TYPE_DOUBLE */
    size_t a_row, a_col, b_row, b_col;
    double *c;
    size_t ldc;
    bool upper; /* M = N: only blocks that have an element with m <= n are computed */
} tg_product64;

void tg_product64_run(const tg_product64 *p);

/* The same in the calling thread alone. */
void tg_product64_run_alone(const tg_product64 *p);

#endif
