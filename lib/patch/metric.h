/*
 * metric: one number of the logits after a prompt.
 *
 *     diff   logit[answer] - logit[wrong]
 *     prob   p[answer],  p = softmax(logits)
 *     loss   -log p[answer]
 *     kl     sum_v r[v] log(r[v] / p[v]),  r the softmax of reference logits
 *
 * Natural logarithms, in double precision.
 */
#ifndef TG_PATCH_METRIC_H
#define TG_PATCH_METRIC_H

#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/pass.h"
#include "lib/gpt/score.h"

typedef enum tg_patch_metric_kind {
    TG_PATCH_DIFF,
    TG_PATCH_PROB,
    TG_PATCH_LOSS,
    TG_PATCH_KL
} tg_patch_metric_kind;
enum { TG_PATCH_METRICS = TG_PATCH_KL + 1 };
#define TG_PATCH_METRIC_NAMES "diff|prob|loss|kl"

typedef struct tg_patch_metric {
    tg_patch_metric_kind kind;
    int32_t answer, wrong;  /* wrong is read by diff alone, answer by all but kl */
    const float *reference; /* [V] read by kl alone, */
    tg_score of_reference;  /* like its score, of all ids */
    size_t V;
} tg_patch_metric;

/* Of logits [V]. */
double tg_patch_measure(const tg_patch_metric *metric, const float *logits);

/* values [n] after n rows x [n,C] of the residual stream, by the model of a pass. */
void tg_patch_measure_rows(double *values, const tg_patch_metric *metric, tg_pass *pass, float *x, size_t n);

/* dlogits [V] = the gradient of the metric at logits [V]. */
void tg_patch_measure_backward(double *dlogits, const tg_patch_metric *metric, const double *logits);

#endif
