#include "lib/gpt/score.h"

#include <math.h>

static float greatest(const float *logits, size_t V)
{
    float max = logits[0];

    for (size_t v = 1; v < V; v++)
        max = logits[v] > max ? logits[v] : max;
    return max;
}

static size_t rank(const float *logits, size_t ids, size_t target)
{
    const float x = logits[target];
    size_t before = 0;

    for (size_t v = 0; v < target; v++)
        before += logits[v] >= x;
    for (size_t v = target + 1; v < ids; v++)
        before += logits[v] > x;
    return 1 + before;
}

double tg_score_log_prob(const tg_score *row, float logit)
{
    return (double)logit - row->max - row->log_sum;
}

tg_score tg_score_row(const float *logits, size_t V, size_t ids, int32_t target)
{
    tg_score s = {.max = (double)greatest(logits, V)};
    double sum = 0, weighted = 0; /* of e^x, and of x e^x, for x = logit - max */

    for (size_t v = 0; v < V; v++) {
        const double x = (double)logits[v] - s.max, e = exp(x);

        sum += e;
        weighted += x * e;
    }
    s.log_sum = log(sum); // cppcheck-suppress invalidFunctionArg ; V >= 1, so that sum >= 1
    s.entropy = s.log_sum - weighted / sum;
    if (target >= 0) {
        s.log_prob = tg_score_log_prob(&s, logits[target]);
        s.rank = rank(logits, ids, (size_t)target);
    }
    return s;
}
