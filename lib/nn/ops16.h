/*
 * ops16: the operations of this folder with bf16 between the matrix products.
 *
 * For training in bf16.  What one product writes and the next one reads is bf16, rounded to nearest,
 * ties to even, once, when it is written: LayerNorm's output, qkv, attention's output, GELU's input and
 * output, and the gradients of all but the first, which are summed over more than the channels.  Sums,
 * the residual stream and its gradient, statistics, losses and parameters are float32; weights are
 * rounded where a product reads them.  Names, arguments and aliasing are those of the float32
 * operations, unless a comment says otherwise; scratch's precision must be bf16.
 * docs/numerics.md states the errors.
 */
#ifndef TG_NN_OPS16_H
#define TG_NN_OPS16_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/bf16.h"
#include "lib/nn/attention.h"
#include "lib/nn/dropout.h"
#include "lib/nn/gelu.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"

/* ---- lib/nn/layernorm.h; tg_layernorm_backward() is also the gradient of these */

void tg_layernorm16_forward(tg_bf16 *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                            size_t N);
void tg_layernorm16_recompute(tg_bf16 *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                              size_t N);

/* ---- lib/nn/gelu.h */

void tg_gelu16_forward(tg_bf16 *out, const tg_bf16 *inp, size_t n, tg_gelu_kind kind);

/* ---- lib/nn/linear.h; linear->in <= tg_matmul_depth() where the result is bf16 */

/* add must be NULL */
void tg_linear16_forward(tg_bf16 *out, const float *add, const tg_bf16 *inp, const tg_linear *linear,
                         size_t N);
void tg_linear16_gelu_forward(tg_bf16 *out, tg_bf16 *pre, const tg_bf16 *inp, const tg_linear *linear,
                              tg_gelu_kind kind, size_t N);
/* dinp is float32, and overlaps nothing */
void tg_linear16_backward(float *dinp, const tg_bf16 *dout, const tg_bf16 *inp, const tg_linear *linear,
                          size_t N);

/* ---- lib/nn/residual.h; dout is rounded to scratch [N,out] */

void tg_residual16_forward(float *out, const float *residual, const tg_bf16 *inp, const tg_linear *linear,
                           const tg_dropout *drop, size_t N);
void tg_residual16_backward(tg_bf16 *dinp, const float *dout, const tg_bf16 *inp, const tg_linear *linear,
                            const tg_dropout *drop, tg_bf16 *scratch, size_t N);
void tg_residual16_after_gelu_backward(tg_bf16 *dpre, const float *dout, const tg_bf16 *inp,
                                       const tg_bf16 *pre, const tg_linear *linear, tg_gelu_kind kind,
                                       const tg_dropout *drop, tg_bf16 *scratch, size_t N);

/* ---- lib/nn/attention.h, without a cache */

typedef struct tg_attention16_gradient {
    tg_bf16 *dq, *dk, *dv;
    const tg_bf16 *dout, *out;
    const float *lse;
} tg_attention16_gradient;

void tg_attention16_place(tg_arena *arena, tg_attention_scratch *scratch, size_t keys, size_t D,
                          size_t group);
void tg_attention16_forward(tg_bf16 *out, float *lse, const tg_bf16 *q, const tg_bf16 *k, const tg_bf16 *v,
                            const tg_attention *a);
void tg_attention16_backward(const tg_attention16_gradient *g, const tg_bf16 *q, const tg_bf16 *k,
                             const tg_bf16 *v, const tg_attention *a);

/* ---- lib/nn/crossentropy.h */

/* Each row's gradients are bf16, in the first half of the memory of its logits: rows 2V apart. */
void tg_crossentropy16_backward(float *losses, float *logits, const int32_t *targets, float scale, size_t N,
                                size_t V);
void tg_head16_loss(float *losses, float *dinp, const tg_bf16 *inp, const int32_t *targets,
                    const tg_linear *head, float scale, size_t N, float *logits);

#endif
