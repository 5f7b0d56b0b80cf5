/*
 * low_rank: the gradients of a change of low rank, where a layer computes with its sum.
 *
 *     y = x W'^T        W' = W + s B A
 *
 * N is the number of rows (B*T).  A is [R,in], B is [out,R], however W lies in memory.  Forward, and the
 * gradient of x, are those of a linear layer with W' (lib/nn/linear.h); that of W' is never computed.
 * Reference: tg_low_rank_backward_ref.
 */
#ifndef TG_NN_LOW_RANK_H
#define TG_NN_LOW_RANK_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/matrix.h"
#include "lib/kernels/matmul.h"

typedef struct tg_low_rank {
    const float *a, *b; /* A [R,in], B [out,R]; NULL: there is no such change */
    float *da, *db;     /* their gradients, likewise */
    float scale;        /* s */
    size_t R;
    float *work; /* [N,R] scratch */
} tg_low_rank;

/*
 * tg_low_rank_backward: of dout and inp of one type, float32 or bf16
 *
 *   da[r,i] += s sum_n (sum_o dout[n,o] B[o,r]) inp[n,i]
 *   db[o,r] += s sum_n dout[n,o] (sum_i inp[n,i] A[r,i])      (= if overwrite)
 */
void tg_low_rank_backward(const tg_low_rank *low_rank, tg_matrix dout, tg_matrix inp, bool overwrite,
                          const tg_matmul_scratch *scratch, size_t N);

#endif
