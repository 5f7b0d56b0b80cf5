/*
 * pass: forward and backward through the whole model for a batch.
 *
 * Holds every buffer that a training step needs, placed in an arena: a step
 * allocates nothing.  Per block are kept the residual stream before and between the
 * sublayers, q k v, the attention's output and the MLP before GELU; LayerNorm's and
 * GELU's outputs are made again on the way back.
 */
#ifndef TG_GPT_PASS_H
#define TG_GPT_PASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/model.h"
#include "lib/kernels/matmul.h"
#include "lib/nn/attention.h"

/* What one block keeps from forward for backward.  N = B*T. */
typedef struct tg_block_state {
    float *x;              /* [N,C] the block's input */
    float *mean1, *rstd1;  /* [N] of ln_1 */
    float *qkv;            /* [N,3C] */
    float *att, *lse;      /* [N,C], [B,H,T] */
    float *x2;             /* [N,C] after attention's residual; all blocks' the same if they share it */
    float *mean2, *rstd2;  /* [N] of ln_2 */
    float *fc;             /* [N,4C] before GELU; backward overwrites it with GELU's slope */
} tg_block_state;

typedef struct tg_pass {
    const tg_model *model;
    size_t B, T;
    float dropout;          /* p, at the embedding, the probabilities and the sublayers' ends */
    tg_rng rng;             /* dropout's stream: seed and step; purpose and site are filled in */
    tg_block_state *block;  /* [L]; a pass without gradients shares one */
    bool shares_x2;         /* the blocks share this one, to save memory: */
    float *x2;              /* [N,C] */
    float *x;               /* [N,C] the last block's output */
    float *mean, *rstd;     /* [N] of ln_f */
    float *normed;          /* [N,C] output of the LayerNorm at hand */
    float *wide;            /* [N,4C] GELU's output; in backward the gradients of fc and of qkv */
    float *losses;          /* [N] */
    float *logits;          /* of a block of rows: in wide's memory */
    float *dx, *dnormed;    /* [N,C] */
    tg_matmul_scratch matmul; /* scratch of the matrix product; its precision may be set */
    tg_attention_scratch attention;
} tg_pass;

/*
 * Place the buffers for batches of B sequences of T <= n_ctx tokens (see arena.h).
 * gradients: for training; else only tg_pass_run() without grads is legal, and
 * memory does not grow with the number of layers.
 */
void tg_pass_place(tg_arena *arena, tg_pass *pass, const tg_model *model, size_t B, size_t T, bool gradients);

/*
 * Mean cross-entropy of targets [B,T] given ids [B,T]; ids and targets are in range.
 * With grads (a flat buffer by the model's table, else NULL) gradients are added to
 * it, of the mean loss times `share` (1/n with n batches to a step).
 */
double tg_pass_run(tg_pass *pass, const int32_t *ids, const int32_t *targets, float *grads, float share);

/*
 * The same without gradients and dropout, in steps, between which the state can be looked at
 * and changed:
 *
 *     tg_pass_begin(p, ids)
 *     for each layer l
 *         tg_pass_attend(p, l)          p->block[l].att from p->block[l].x
 *         tg_pass_finish_block(p, l)            the next block's x from both
 *     tg_pass_loss(p, targets)
 *
 * p->block[l].x and .att are all that the steps after tg_pass_attend() go by: who puts back
 * a copy of them can go on from there again.  Only for a pass that was placed without
 * gradients.
 */
void tg_pass_begin(tg_pass *pass, const int32_t *ids);
void tg_pass_attend(tg_pass *pass, size_t l);
void tg_pass_finish_block(tg_pass *pass, size_t l);
double tg_pass_loss(tg_pass *pass, const int32_t *targets); /* the mean; each in p->losses */

#endif
