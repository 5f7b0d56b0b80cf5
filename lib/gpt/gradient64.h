/*
 * gradient64: how the loss of a prediction depends on one layer's attention, in double precision.
 *
 * The model predicts the token after a text:
 *
 *     loss = -log softmax(logits[T-1])[target]
 *
 * From layer l's weighted sums on, the rest of the model runs in double precision on the
 * float32 weights, forward and then backward, by the same operations as training: the family's page
 * (lib/gpt/family.h).  In GPT-2:
 *
 *     x2 = x + att w_proj + b_proj          x: the residual stream before ln_1
 *     ... the MLP of layer l, all later layers, ln_f, the head
 *     dout = dloss/d(att w_proj + b_proj) = dloss/dx2      datt = dout w_proj^T
 *
 *     place; tg_gradient64_begin(); tg_gradient64_loss(); tg_gradient64_run()
 *
 * Memory is about 100 (L - l) T C bytes.  Dropout is off, as everywhere outside training.
 */
#ifndef TG_GPT_GRADIENT64_H
#define TG_GPT_GRADIENT64_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/acts.h"
#include "lib/gpt/model.h"

typedef struct tg_gradient64 {
    const tg_model *model;
    size_t layer, T;
    int32_t target;
    tg_acts acts;   /* in double precision, of the blocks from `layer` on */
    double *logits; /* [V] of the last token */
    double loss;
    double *dlogits; /* [V] */
    double *dout;    /* [T,C] the gradient of what attention adds to the residual stream */
    double *datt;    /* [T,Q] the gradient of the weighted sums: dout w_proj^T */
} tg_gradient64;

/* Place everything in an arena (see arena.h), for layer `layer` and texts of T tokens. */
void tg_gradient64_place(tg_arena *arena, tg_gradient64 *g, const tg_model *model, size_t layer, size_t T);

/* Start from the layer's input before its first norm, x [T,C], and from its q, k and v: copy them to the
 * layer's rows of g->acts and compute att there. */
void tg_gradient64_begin(tg_gradient64 *g, tg_matrix x, const tg_qkv *qkv);

/* Run forward from the layer's x and att; returns the loss of `target`, which is
 * in [0, vocab_size). */
double tg_gradient64_loss(tg_gradient64 *g, int32_t target);

/* Run backward from there: writes g->dlogits, g->dout and g->datt. */
void tg_gradient64_run(tg_gradient64 *g);

#endif
