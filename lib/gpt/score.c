#include "lib/gpt/score.h"

#include <math.h>

#include "lib/kernels/kernels.h"

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
        s.rank = tg_kernels_get()->count_before(logits, (size_t)target, ids);
    }
    return s;
}

void tg_score_probs(double *probs, const tg_score *row, const float *logits, size_t V)
{
    tg_kernels_get()->softmax_probs(probs, logits, row->max + row->log_sum, V);
}

double tg_score_divergence(const double *p, double entropy, const tg_score *q, const float *q_logits,
                           size_t V)
{
    const double cross_entropy = q->max + q->log_sum - tg_kernels_get()->mean_logit(p, q_logits, V);

    return cross_entropy < entropy ? 0 : cross_entropy - entropy; /* rounding */
}
