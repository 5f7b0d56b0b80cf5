/*
 * rule: what distinguishes the scores of some families' attention from q k^T / sqrt(D) with the causal mask;
 * the references and the fast operations share it.
 */
#ifndef TG_NN_REF_RULE_H
#define TG_NN_REF_RULE_H

#include <stddef.h>

#include "lib/base/api.h"

TG_API_BEGIN

/* Scales and caps in a file are at most this. */
#define TG_ATTENTION_RULE_MAX 1e6

typedef struct tg_attention_rule {
    double scale;  /* instead of 1 / sqrt(D); 0: that */
    double cap;    /* then scores s become cap * tanh(s / cap); 0: no cap */
    size_t window; /* then the last `window` keys are seen, with the query's own; 0: all */
} tg_attention_rule;

/* The first key that query i sees; the last is i itself. */
static inline size_t tg_attention_first(const tg_attention_rule *rule, size_t i)
{
    return rule->window > 0 && i >= rule->window ? i - rule->window + 1 : 0;
}

TG_API_END

#endif
