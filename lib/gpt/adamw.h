/*
 * adamw: Adam with decoupled weight decay, and clipping by the global norm.
 *
 *   g' = g * min(1, clip / |g|)
 *   m = beta1 m + (1 - beta1) g'        v = beta2 v + (1 - beta2) g'^2
 *   w = w - lr (m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + eps) + decay w)
 *
 * Decay applies to matrices only (tg_param.decay).  All buffers are flat, in the order of the
 * parameter table.  Source: Loshchilov & Hutter 2019, arXiv:1711.05101.
 *
 * Where w, m and v are kept in bf16, the same is computed in float32, and each result x is rounded to one of
 * the two bf16 numbers around it, at random: to the upper one with probability (x - lower) / (upper - lower).
 * An update that is too small for bf16 is then right on average; rounding to nearest would lose it.
 * Source: Gupta et al. 2015, arXiv:1502.02551.
 */
#ifndef TG_GPT_ADAMW_H
#define TG_GPT_ADAMW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/flat.h"
#include "lib/gpt/params.h"

typedef struct tg_adamw {
    double beta1, beta2, epsilon, weight_decay;
    double clip;         /* 0: no clipping */
    bool without_hidden; /* leave out the parameters that Muon updates (lib/gpt/muon.h) */
} tg_adamw;

/* What a step updates, and the gradients that it reads; all are flat, in the table's order. */
typedef struct tg_adamw_state {
    tg_flat params, m, v; /* of one type */
    const float *grads;
    uint64_t seed; /* of rounding to bf16 */
} tg_adamw_state;

/* The norm is summed up in blocks of so many floats of the flat buffer; the last one may have fewer. */
size_t tg_adamw_block(void);

/* Number of blocks, which are doubles in tg_adamw_norm()'s scratch buffer. */
size_t tg_adamw_work(const tg_params *table);

/* The gradient's global norm.  work [tg_adamw_work()] is scratch.  The order of the sum does not
 * depend on the number of threads. */
double tg_adamw_norm(const tg_params *table, const float *grads, double *work);

/* The same in two steps: the sums of squares of the blocks from float `begin`, where a block begins, up
 * to `end`, into their places in work; and when all are there, the norm. */
void tg_adamw_sum_squares(const float *grads, size_t begin, size_t end, double *work);
double tg_adamw_norm_of(const tg_params *table, const double *work);

/* What clipping multiplies the gradient with. */
double tg_adamw_grad_scale(const tg_adamw *o, double norm);

/* Do step number t, from 1, with learning rate lr; norm is tg_adamw_norm() of the gradient. */
void tg_adamw_update(const tg_adamw *o, const tg_params *table, const tg_adamw_state *state, double norm,
                     double lr, uint64_t t);

/* The same for the floats begin .. end - 1 of the flat buffers, which begin and end with blocks. */
void tg_adamw_update_part(const tg_adamw *o, const tg_params *table, const tg_adamw_state *state, double norm,
                          double lr, uint64_t t, size_t begin, size_t end);

#endif
