/*
 * score: the prediction of the next token by a row of logits.
 *
 *   log_prob = logits[target] - log sum_v exp(logits[v])
 *   entropy  = -sum_v p[v] log p[v],  p = softmax(logits)
 *   rank     = the number of tokens before the target in the order of falling logits: 0 for the most
 *              probable one; of equal logits, that of the lower id comes first
 *
 *   divergence = sum_v p[v] (log p[v] - log q[v])
 *              = -sum_v p[v] log q[v] - entropy of p       for the probabilities p and q of two rows
 *
 * Natural logarithms; computed in double precision, by lib/kernels/isa/score.c.
 */
#ifndef TG_GPT_SCORE_H
#define TG_GPT_SCORE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/tg/eval.h"

/* The log-probability of a token of the scored row, by its logit. */
double tg_score_log_prob(const tg_score *row, float logit);

/* p [V], the probabilities of a scored row. */
void tg_score_probs(double *p, const tg_score *row, const float *logits, size_t V);

/* The divergence of a scored row q from probabilities p [V], which have this entropy.  0 up to rounding for
 * the same row. */
double tg_score_divergence(const double *p, double entropy, const tg_score *q, const float *q_logits,
                           size_t V);

#endif
