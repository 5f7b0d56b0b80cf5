/*
 * rule: what distinguishes the scores of some families' attention from q k^T / sqrt(D) with the causal mask;
 * the references and the fast operations share it.
 */
#ifndef TG_NN_REF_RULE_H
#define TG_NN_REF_RULE_H

#include <stddef.h>

#include "lib/tg/attention.h"

/* Scales and caps in a file are at most this. */
#define TG_ATTENTION_RULE_MAX 1e6

/* The first key that query i sees; the last is i itself. */
static inline size_t tg_attention_first(const tg_attention_rule *rule, size_t i)
{
    return rule->window > 0 && i >= rule->window ? i - rule->window + 1 : 0;
}

#endif
