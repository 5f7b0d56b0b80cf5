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

#include "lib/kernels/matmul.h"

/* losses [N] written; logits [N,V] destroyed. */
void tg_crossentropy_forward(float *losses, float *logits, const int32_t *targets, size_t N, size_t V);

/*
 * losses [N] written, and each logit replaced by its gradient when every loss counts
 * `scale`: logits[n,v] = (softmax(logits[n])[v] - [v = target[n]]) * scale, scale > 0.
 */
void tg_crossentropy_backward(float *losses, float *logits, const int32_t *targets, float scale, size_t N,
                              size_t V);

/* The head: logits = inp w^T + bias. */
typedef struct tg_head {
    const float *w;    /* [V,C] */
    const float *bias; /* [V], or NULL */
    float *dw, *dbias; /* added to; dbias NULL without a bias */
    size_t C, V;
} tg_head;

/* Floats of scratch for the head's logits of one block of rows. */
size_t tg_head_logits(size_t N, size_t V);

/*
 * Losses [N] of inp [N,C] through the head, in blocks of rows, so that [N,V] is
 * never stored.  With dinp (else NULL) the gradients too, when every loss counts
 * `scale`: dinp [N,C] is written, head->dw and dbias are added to.
 * logits: tg_head_logits() floats; scratch: see lib/kernels/matmul.h.
 */
void tg_head_loss(float *losses, float *dinp, const float *inp, const int32_t *targets, const tg_head *head,
                  float scale, size_t N, float *logits, const tg_matmul_scratch *scratch);

#endif
