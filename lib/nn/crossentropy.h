/*
 * crossentropy: the loss of the head's logits, fused with its product.
 *
 *   losses[n] = log sum_v exp(logits[n,v]) - logits[n,target[n]]
 *
 * The caller ensures that targets are in [0, V), or negative: then there is none, and the loss and its
 * gradient are 0.  References: tg_crossentropy_*_ref, tg_linear_*_ref.
 */
#ifndef TG_NN_CROSSENTROPY_H
#define TG_NN_CROSSENTROPY_H

#include <stddef.h>
#include <stdint.h>

#include "lib/nn/linear.h"

/* Floats of scratch that tg_head_loss() needs. */
size_t tg_head_logits(size_t N, size_t V);

/*
 * tg_head_loss: the losses [N] of the head's logits, inp W^T + b for inp [N,C], in blocks of
 * rows, so that [N,V] is never stored.  Unless dinp is empty, also the gradients of
 * scale * (sum of the losses): dinp [N,C] is written, head->dw and db are added to.  inp is float32 or bf16,
 * dinp float32.  cap: that of the logits (lib/nn/softcap.h), 0: none.  logits: scratch of tg_head_logits()
 * floats, or twice as many for gradients through a cap.
 */
void tg_head_loss(float *losses, tg_matrix dinp, tg_matrix inp, const int32_t *targets, const tg_linear *head,
                  double cap, float scale, size_t N, float *logits);

#endif
