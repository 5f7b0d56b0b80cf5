/*
 * crossentropy: the loss of the logits, alone and fused with the head.
 *
 *   losses[n] = log sum_v exp(logits[n,v]) - logits[n,target[n]]
 *
 * Targets are in [0, V): the caller has checked.
 * References: tg_crossentropy_*_ref, tg_linear_*_ref.
 */
#ifndef TG_NN_CROSSENTROPY_H
#define TG_NN_CROSSENTROPY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/nn/linear.h"

/* losses [N] written; logits [N,V] destroyed. */
void tg_crossentropy_forward(float *losses, float *logits, const int32_t *targets, size_t N, size_t V);

/*
 * losses [N] written, and each logit replaced by its gradient when every loss counts
 * `scale`: logits[n,v] = (softmax(logits[n])[v] - [v = target[n]]) * scale, scale > 0.
 */
void tg_crossentropy_backward(float *losses, float *logits, const int32_t *targets, float scale, size_t N,
                              size_t V);

/* Floats of scratch for the logits of one block of rows of the head. */
size_t tg_head_logits(size_t N, size_t V);

/*
 * tg_head_loss: the losses [N] of inp [N,C] through the head, logits = inp W^T + b, in blocks
 * of rows, so that [N,V] is never stored.  With dinp (else NULL) the gradients too, when every
 * loss counts `scale`: dinp [N,C] is written, head->dw and db are added to.
 * logits: tg_head_logits() floats.
 */
void tg_head_loss(float *losses, float *dinp, const float *inp, const int32_t *targets, const tg_linear *head,
                  float scale, size_t N, float *logits);

#endif
