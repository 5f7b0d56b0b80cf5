/*
 * gradient: how the loss of a prediction depends on one layer's attention.
 *
 * The prediction is the one behind the last token of a text:
 *
 *     loss = -log softmax(logits[T-1])[target]
 *
 * From layer l's weighted sums on, the rest of the model is run in double precision
 * with the reference operations on the float32 weights, and then backward:
 *
 *     x2 = x + att w_proj + b_proj          x: the residual stream in front of ln_1
 *     ... the MLP of layer l, all later layers, ln_f, the head
 *     dout = dloss/d(att w_proj + b_proj) = dloss/dx2      datt = dout w_proj^T
 *
 *     place; tg_attn_gradient_begin(); tg_attn_gradient_loss(); tg_attn_gradient_run()
 *
 * Memory is about 100 (L - l) T C bytes.  Dropout is off, as everywhere outside training.
 */
#ifndef TG_ATTN_GRADIENT_H
#define TG_ATTN_GRADIENT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/model.h"

/* What a block keeps from forward for backward. */
typedef struct tg_attn_block64 {
    double *x, *mean1, *rstd1; /* [T,C], [T], [T] the block's input, and ln_1's */
    double *qkv;               /* [T,3C] */
    double *att;               /* [T,C] */
    double *x2, *mean2, *rstd2;
    double *fc;                /* [T,4C] before GELU */
} tg_attn_block64;

typedef struct tg_attn_gradient {
    const tg_model *model;
    size_t layer, T;
    int32_t target;
    tg_attn_block64 *block; /* [L - layer], from `layer` on */
    double *x;              /* [T,C] the last block's output */
    double *mean, *rstd;    /* of ln_f at the last token */
    double *logits;         /* [V] of the last token */
    double loss;
    /* scratch */
    double *normed;       /* [T,C] */
    double *wide, *dwide; /* [T,4C] */
    double *rows;         /* [H,4T] a head's scores, probs and their gradients */
    double *norm_w, *norm_b;
    /* gradients */
    double *dlogits; /* [V] */
    double *dout;    /* [T,C] of what attention adds to the residual stream */
    double *datt;    /* [T,C] of the weighted sums: dout w_proj^T */
} tg_attn_gradient;

/* Place everything in an arena (see arena.h), for layer `layer` and texts of T tokens. */
void tg_attn_gradient_place(tg_arena *arena, tg_attn_gradient *g, const tg_model *model, size_t layer,
                            size_t T);

/* The layer's input in front of ln_1, x [T,C], and its qkv [T,3C]: g->block[0] holds them
 * and their att, the same numbers as those of the walk. */
void tg_attn_gradient_begin(tg_attn_gradient *g, const float *x, const float *qkv);

/* Forward from the x and att in g->block[0]: the loss of 0 <= target < vocab_size. */
double tg_attn_gradient_loss(tg_attn_gradient *g, int32_t target);

/* Backward from there: g->dlogits, g->dout and g->datt are written. */
void tg_attn_gradient_run(tg_attn_gradient *g);

#endif
