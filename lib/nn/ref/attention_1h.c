#include "lib/nn/ref/real.h"

void REF(attention_1h_forward)(real *att, real *probs, real *scores, const real *q, const real *k,
                               const real *v, size_t B, size_t T, size_t C)
{
    for (size_t b = 0; b < B; b++) {
        for (size_t i = 0; i < T; i++) {
            real *scores_bi = scores + (b * T + i) * T;
            real *probs_bi = probs + (b * T + i) * T;

            REF(attention_scores_row)(scores_bi, q + (b * T + i) * C, k + b * T * C, C, T, C, i);
            REF(softmax_row)(probs_bi, scores_bi, T);
            REF(attention_values_row)(att + (b * T + i) * C, probs_bi, NULL, v + b * T * C, C, C, i);
        }
    }
}

void REF(attention_1h_backward)(real *dq, real *dk, real *dv, real *dprobs, real *dscores, const real *datt,
                                const real *probs, const real *q, const real *k, const real *v, size_t B,
                                size_t T, size_t C)
{
    for (size_t b = 0; b < B; b++) {
        size_t rows = b * T * C; /* of k and v, for every query of the sequence */

        for (size_t i = 0; i < T; i++) {
            size_t row = (b * T + i) * C;
            size_t square = (b * T + i) * T;

            /* att[i] = probs[i] v */
            REF(attention_values_row_backward)
            (dprobs + square, dv + rows, datt + row, probs + square, NULL, v + rows, C, T, C, i);
            /* probs[i] = softmax(scores[i]) */
            for (size_t j = 0; j < T; j++)
                dscores[square + j] = 0;
            REF(softmax_row_backward)(dscores + square, dprobs + square, probs + square, T);
            /* scores[i] = q[i] k^T / sqrt(C) */
            REF(attention_scores_row_backward)
            (dq + row, dk + rows, dscores + square, q + row, k + rows, C, C, i);
        }
    }
}
