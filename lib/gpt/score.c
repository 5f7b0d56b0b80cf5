#include "lib/gpt/score.h"

#include <math.h>

#include "lib/kernels/kernels.h"

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
    tg_softmax_sums sums;
    tg_score s;

    tg_kernels_get()->softmax_sums(&sums, logits, V);
    s = (tg_score){.max = sums.max, .log_sum = log(sums.sum)};
    s.entropy = s.log_sum - sums.weighted / sums.sum;
    if (target >= 0) {
        s.log_prob = tg_score_log_prob(&s, logits[target]);
        s.rank = rank(logits, ids, (size_t)target);
    }
    return s;
}

void tg_score_probs(double *probs, const tg_score *row, const float *logits, size_t V)
{
    tg_kernels_get()->softmax_probs(probs, logits, row->max + row->log_sum, V);
}

double tg_score_divergence(const double *probs, const tg_score *row, const float *logits,
                           const tg_score *other_row, const float *other_logits, size_t V)
{
    const double sums = (row->max + row->log_sum) - (other_row->max + other_row->log_sum);

    return tg_kernels_get()->mean_difference(probs, logits, other_logits, V) - sums;
}
