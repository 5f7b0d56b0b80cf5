/*
 * rule: what distinguishes the scores of some families' attention from q k^T / sqrt(D) with the causal mask;
 * the references and the fast operations share it.
 */
#ifndef TG_NN_REF_RULE_H
#define TG_NN_REF_RULE_H

#include <stddef.h>

#include "lib/base/api.h"

TG_API_BEGIN

typedef struct tg_attention_rule {
    double scale;  /* instead of 1 / sqrt(D); 0: that */
    double cap;    /* then scores s become cap * tanh(s / cap); 0: no cap */
    size_t window; /* then the last `window` keys are seen, with the query's own; 0: all */
} tg_attention_rule;

TG_API_END

#endif
