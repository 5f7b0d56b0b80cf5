#include "lib/nn/ref/real.h"

void REF(softmax_row)(real *probs, const real *scores, size_t n)
{
    real max = scores[0], sum = 0;

    for (size_t j = 1; j < n; j++)
        max = scores[j] > max ? scores[j] : max;
    for (size_t j = 0; j < n; j++) {
        probs[j] = exp(scores[j] - max);
        sum += probs[j];
    }
    for (size_t j = 0; j < n; j++)
        probs[j] /= sum;
}

void REF(softmax_row_backward)(real *dscores, const real *dprobs, const real *probs, size_t n)
{
    real sum = 0;

    for (size_t j = 0; j < n; j++)
        sum += probs[j] * dprobs[j];
    for (size_t j = 0; j < n; j++)
        dscores[j] += probs[j] * (dprobs[j] - sum);
}

void REF(softmax_forward)(real *probs, const real *scores, size_t N, size_t V)
{
    for (size_t n = 0; n < N; n++)
        REF(softmax_row)(probs + n * V, scores + n * V, V);
}

void REF(softmax_backward)(real *dscores, const real *dprobs, const real *probs, size_t N, size_t V)
{
    for (size_t n = 0; n < N; n++)
        REF(softmax_row_backward)(dscores + n * V, dprobs + n * V, probs + n * V, V);
}
