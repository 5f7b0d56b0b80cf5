#include "lib/nn/ref/real.h"

static real factor(const tg_attention_rule *rule, size_t D)
{
    return rule->scale > 0 ? (real)rule->scale * sqrt((real)D) : 1;
}

void REF(attention_rule_row)(real *scores, const tg_attention_rule *rule, size_t D, size_t i)
{
    const real cap = (real)rule->cap;

    for (size_t j = 0; j <= i; j++) {
        scores[j] *= factor(rule, D);
        if (cap > 0)
            scores[j] = cap * tanh(scores[j] / cap);
        if (rule->window > 0 && i - j >= rule->window)
            scores[j] = (real)TG_MASKED;
    }
}

void REF(attention_rule_row_backward)(real *dscores, const real *scores, const tg_attention_rule *rule,
                                      size_t D, size_t i)
{
    const real cap = (real)rule->cap;

    for (size_t j = 0; j <= i; j++) {
        if (rule->window > 0 && i - j >= rule->window)
            dscores[j] = 0;
        else if (cap > 0)
            dscores[j] *= 1 - scores[j] / cap * (scores[j] / cap);
        dscores[j] *= factor(rule, D);
    }
}
