/*
 * head: from the residual stream to logits or losses, and back: logits = norm(x) W^T (+ b), with the norm of
 * the model's family, and capped if the config has a cap.
 */
#ifndef TG_GPT_HEAD_H
#define TG_GPT_HEAD_H

#include "lib/gpt/acts.h"

/* logits [rows,V] of rows of x, which may be any that is of the residual stream; not in bf16. */
void tg_head_forward(tg_acts *a, tg_matrix logits, tg_matrix x, size_t rows);

/* The same before the cap. */
void tg_head_forward_uncapped(tg_acts *a, tg_matrix logits, tg_matrix x, size_t rows);

/* The losses [N] of all of a->x, 0 where the target is negative: that token's logits are not computed.  If
 * gradients are bound, also the gradient of scale * (their sum), of the norm's output.  a->logits and
 * a->targets are used. */
void tg_head_losses(tg_acts *a, float *losses, const int32_t *targets, float scale);

/* To the gradient of a->x: from that of tg_head_forward()'s logits of its rows from `first` on, which with a
 * cap becomes that of what is capped; or of tg_head_losses(). */
void tg_head_backward(tg_acts *a, tg_matrix dlogits, tg_matrix logits, size_t first, size_t rows);
void tg_head_losses_backward(tg_acts *a);

#endif
