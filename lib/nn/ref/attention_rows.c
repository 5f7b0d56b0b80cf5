#include <assert.h>

#include "lib/nn/ref/real.h"

void REF(attention_scores_row)(real *scores, const real *q, const real *k, size_t ldk, size_t T, size_t D,
                               size_t i)
{
    assert(i < T && ldk >= D);
    for (size_t j = 0; j <= i; j++) {
        real sum = 0;

        for (size_t d = 0; d < D; d++)
            sum += q[d] * k[j * ldk + d];
        scores[j] = sum / sqrt((real)D);
    }
    for (size_t j = i + 1; j < T; j++)
        scores[j] = (real)TG_MASKED;
}

void REF(attention_scores_row_backward)(real *dq, real *dk, const real *dscores, const real *q, const real *k,
                                        size_t ldk, size_t D, size_t i)
{
    /* scores[j] = sum over d of q[d] * k[j,d] / sqrt(D) */
    for (size_t j = 0; j <= i; j++) {
        for (size_t d = 0; d < D; d++) {
            dq[d] += dscores[j] * k[j * ldk + d] / sqrt((real)D);
            dk[j * ldk + d] += dscores[j] * q[d] / sqrt((real)D);
        }
    }
}

void REF(attention_values_row)(real *att, const real *probs, const real *keep, const real *v, size_t ldv,
                               size_t D, size_t i)
{
    for (size_t d = 0; d < D; d++) {
        real sum = 0;

        for (size_t j = 0; j <= i; j++)
            sum += probs[j] * (keep ? keep[j] : 1) * v[j * ldv + d];
        att[d] = sum;
    }
}

void REF(attention_values_row_backward)(real *dprobs, real *dv, const real *datt, const real *probs,
                                        const real *keep, const real *v, size_t ldv, size_t T, size_t D,
                                        size_t i)
{
    /* att[d] = sum over j <= i of probs[j] * keep[j] * v[j,d] */
    for (size_t j = 0; j <= i; j++) {
        real keep_j = keep ? keep[j] : 1, sum = 0;

        for (size_t d = 0; d < D; d++) {
            sum += datt[d] * v[j * ldv + d];
            dv[j * ldv + d] += probs[j] * keep_j * datt[d];
        }
        dprobs[j] = keep_j * sum;
    }
    for (size_t j = i + 1; j < T; j++)
        dprobs[j] = 0;
}
