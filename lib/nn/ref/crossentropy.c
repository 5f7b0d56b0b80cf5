#include <assert.h>

#include "lib/nn/ref/real.h"

/* log(sum over v of exp(logits[v])), without overflow */
static real log_sum_exp(const real *logits, size_t V)
{
    real max = logits[0], sum = 0;

    for (size_t v = 1; v < V; v++)
        max = logits[v] > max ? logits[v] : max;
    for (size_t v = 0; v < V; v++)
        sum += exp(logits[v] - max);
    return log(sum) + max; // cppcheck-suppress invalidFunctionArg ; V >= 1, so that sum >= 1
}

void REF(crossentropy_forward)(real *losses, const real *logits, const int32_t *targets, size_t N, size_t V)
{
    for (size_t n = 0; n < N; n++) {
        assert(targets[n] >= -1 && (targets[n] < 0 || (size_t)targets[n] < V));
        if (targets[n] < 0)
            losses[n] = 0;
        else
            losses[n] = log_sum_exp(logits + n * V, V) - logits[n * V + (size_t)targets[n]];
    }
}

void REF(crossentropy_backward)(real *dlogits, const real *dlosses, const real *logits,
                                const int32_t *targets, size_t N, size_t V)
{
    for (size_t n = 0; n < N; n++) {
        real log_sum;

        if (targets[n] < 0)
            continue;
        log_sum = log_sum_exp(logits + n * V, V);
        for (size_t v = 0; v < V; v++) {
            real prob = exp(logits[n * V + v] - log_sum);

            dlogits[n * V + v] += dlosses[n] * (prob - (real)(v == (size_t)targets[n]));
        }
    }
}
