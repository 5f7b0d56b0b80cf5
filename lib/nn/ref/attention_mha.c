#include "lib/nn/ref/real.h"

void REF(attention_mha_forward)(real *att, real *probs, real *scores, const real *q, const real *k,
                                const real *v, const real *keep, size_t B, size_t T, size_t H, size_t D)
{
    size_t C = H * D;

    for (size_t b = 0; b < B; b++) {
        for (size_t h = 0; h < H; h++) {
            size_t rows = b * T * C + h * D; /* of k and v: row j is at rows + j * C */

            for (size_t i = 0; i < T; i++) {
                size_t row = ((b * T + i) * H + h) * D;
                size_t square = ((b * H + h) * T + i) * T;

                REF(attention_scores_row)(scores + square, q + row, k + rows, C, T, D, i);
                REF(softmax_row)(probs + square, scores + square, T);
                REF(attention_values_row)
                (att + row, probs + square, keep ? keep + square : NULL, v + rows, C, D, i);
            }
        }
    }
}

void REF(attention_mha_backward)(real *dq, real *dk, real *dv, real *dprobs, real *dscores, const real *datt,
                                 const real *probs, const real *q, const real *k, const real *v,
                                 const real *keep, size_t B, size_t T, size_t H, size_t D)
{
    size_t C = H * D;

    for (size_t b = 0; b < B; b++) {
        for (size_t h = 0; h < H; h++) {
            size_t rows = b * T * C + h * D;

            for (size_t i = 0; i < T; i++) {
                size_t row = ((b * T + i) * H + h) * D;
                size_t square = ((b * H + h) * T + i) * T;

                /* att[i,h] = (probs[h,i] * keep[h,i]) v[h] */
                REF(attention_values_row_backward)
                (dprobs + square, dv + rows, datt + row, probs + square, keep ? keep + square : NULL,
                 v + rows, C, T, D, i);
                /* probs[h,i] = softmax(scores[h,i]) */
                for (size_t j = 0; j < T; j++)
                    dscores[square + j] = 0;
                REF(softmax_row_backward)(dscores + square, dprobs + square, probs + square, T);
                /* scores[h,i] = q[i,h] k[h]^T / sqrt(D) */
                REF(attention_scores_row_backward)
                (dq + row, dk + rows, dscores + square, q + row, k + rows, C, D, i);
            }
        }
    }
}
