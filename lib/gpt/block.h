/*
 * block: the operations that a family's page is made of (lib/gpt/gpt2.c).
 *
 * Each takes rows of the table of activations and parameters by their kind, computes the row that it names
 * first, for all N = B*T tokens, and calls the run's tap.  Where a run begins or ends within the block, the
 * operations outside of it do nothing.  A bias is the kind that follows its weight; the row, or the two
 * rows, that follow a norm are its statistics, and the row that follows attention is its logarithms of sums.
 *
 * In a pass in bf16 a linear layer reads and writes rows that lie between products, a residual layer reads
 * such a row and writes one that does not, and a norm reads and writes either.
 *
 * Backward, the operation OUT = f(IN) has the gradient of OUT (tg_acts_gradient()) and computes IN's, which
 * lies elsewhere.  Where several operations have the same IN, the first to run backward writes its gradient,
 * the others add to it; the gradient of the residual stream is always added to.  A tap sees IN's gradient.
 *
 * A family with an operation of its own writes it as these are written: see tg_block_begins().
 */
#ifndef TG_GPT_BLOCK_H
#define TG_GPT_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/acts.h"
#include "lib/gpt/layers.h"

/* A block within a run (lib/gpt/layers.h). */
typedef struct tg_block {
    tg_acts *a;
    size_t layer;
    size_t from, to; /* the operations that run: rows from .. to - 1 */
    const tg_tap *tap;
    bool ended;            /* by the tap */
    uint64_t has_gradient; /* rows whose gradient has been written */
} tg_block;

/* ---- out = layernorm(in) */

void tg_block_layernorm(tg_block *b, size_t out, size_t in, tg_param_kind w);
/* Compute out again, as backward needs it, from the statistics. */
void tg_block_layernorm_again(tg_block *b, size_t out, size_t in, tg_param_kind w);
void tg_block_layernorm_backward(tg_block *b, size_t out, size_t in, tg_param_kind w);

/* ---- out = rmsnorm(in), or, where w has fewer elements than in, of each part of in by itself: of each head.
 * The statistics are the row that follows out.  In a model without the parameter w, out = in */

void tg_block_rmsnorm(tg_block *b, size_t out, size_t in, tg_param_kind w);
/* Compute out again, as backward needs it, from the statistics. */
void tg_block_rmsnorm_again(tg_block *b, size_t out, size_t in, tg_param_kind w);
void tg_block_rmsnorm_backward(tg_block *b, size_t out, size_t in, tg_param_kind w);

/* ---- out = in, the channels of each head rotated by their position */

void tg_block_rotate(tg_block *b, size_t out, size_t in);
void tg_block_rotate_backward(tg_block *b, size_t out, size_t in);

/* ---- out = act(gate) * up */

void tg_block_gate(tg_block *b, size_t out, size_t gate, size_t up);
/* Compute out again if backward lacks it. */
void tg_block_gate_again(tg_block *b, size_t out, size_t gate, size_t up);
void tg_block_gate_backward(tg_block *b, size_t out, size_t gate, size_t up);

/* ---- out = in W + b */

void tg_block_linear(tg_block *b, size_t out, size_t in, tg_param_kind w);
void tg_block_linear_backward(tg_block *b, size_t out, size_t in, tg_param_kind w);

/* ---- pre = in W + b, out = act(pre): one operation, named by out; pre is no place to begin.  Backward:
 * tg_block_residual_activation_backward() to the gradient of pre, then tg_block_linear_backward(pre, in) */

void tg_block_linear_activation(tg_block *b, size_t out, size_t pre, size_t in, tg_param_kind w);
/* Compute out again if backward lacks it. */
void tg_block_activation_again(tg_block *b, size_t out, size_t pre);

/* ---- out = causal attention, each head by itself: out = softmax(q k^T / sqrt(D)) v, with the scale, cap and
 * window of the config */

void tg_block_attention(tg_block *b, size_t out, size_t q, size_t k, size_t v);
void tg_block_attention_backward(tg_block *b, size_t out, size_t q, size_t k, size_t v);

/* ---- out = residual + in W + b; dropout of what is added */

void tg_block_residual(tg_block *b, size_t out, size_t residual, size_t in, tg_param_kind w);
/* Compute out again if backward lacks it. */
void tg_block_residual_again(tg_block *b, size_t out, size_t residual, size_t in, tg_param_kind w);
void tg_block_residual_backward(tg_block *b, size_t out, size_t residual, size_t in, tg_param_kind w);
/* The same for in = act(pre), to the gradient of pre. */
void tg_block_residual_activation_backward(tg_block *b, size_t out, size_t residual, size_t in, size_t pre,
                                           tg_param_kind w);

/* ---- out = residual + in; dropout of what is added */

void tg_block_add(tg_block *b, size_t out, size_t residual, size_t in);
void tg_block_add_backward(tg_block *b, size_t out, size_t residual, size_t in);

/* ---- for other operations */

/* Whether the operation that computes this row, forward or backward, runs; afterwards tg_block_ends(). */
bool tg_block_begins(const tg_block *b, size_t row);
void tg_block_ends(tg_block *b, size_t row);

/* The matrices of a row and of its gradient. */
tg_matrix tg_block_row(const tg_block *b, size_t row);
tg_matrix tg_block_gradient(const tg_block *b, size_t row);

/* Whether an operation adds to a row's gradient, because another has written it.  After this call one has. */
bool tg_block_adds(tg_block *b, size_t row);

/* N */
static inline size_t tg_block_tokens(const tg_block *b)
{
    return b->a->B * b->a->T;
}

#endif
