/*
 * adamw: Adam with decoupled weight decay, and clipping by the global norm.
 *
 *   g' = g * min(1, clip / |g|)
 *   m = beta1 m + (1 - beta1) g'        v = beta2 v + (1 - beta2) g'^2
 *   w = w - lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + decay w)
 *
 * Decay applies to matrices only (tg_param.decay).  All buffers are flat, in the order of the
 * parameter table.  Source: Loshchilov & Hutter 2019, arXiv:1711.05101.
 */
#ifndef TG_GPT_ADAMW_H
#define TG_GPT_ADAMW_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/gpt/params.h"

TG_API_BEGIN

typedef struct tg_adamw {
    double beta1, beta2, epsilon, weight_decay;
    double clip; /* 0: no clipping */
} tg_adamw;

/* What a step updates, and the gradients that it reads; all are flat, in the table's order. */
typedef struct tg_adamw_state {
    float *params, *m, *v;
    const float *grads;
} tg_adamw_state;

/* Number of doubles in tg_adamw_norm()'s scratch buffer. */
size_t tg_adamw_work(const tg_params *table);

/* The gradient's global norm.  work [tg_adamw_work()] is scratch.  The order of the sum does not
 * depend on the number of threads. */
double tg_adamw_norm(const tg_params *table, const float *grads, double *work);

/* Do step number t, from 1, with learning rate lr; norm is tg_adamw_norm() of the gradient. */
void tg_adamw_update(const tg_adamw *o, const tg_params *table, const tg_adamw_state *state, double norm,
                     double lr, uint64_t t);

TG_API_END

#endif
