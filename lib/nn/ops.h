/*
 * ops: the operations of this folder on matrices that carry their type (lib/base/matrix.h).
 *
 * Each has the name, the arguments and the aliasing of the operation on floats (layernorm.h, linear.h, ...),
 * unless ops16.h or ops64.h says otherwise, and one of three kinds of operands:
 *
 *   float    all matrices are float32
 *   bf16     what passes from one matrix product to the next is bf16, all else float32 (ops16.h)
 *   double   all matrices are double; parameters stay float32, and have no gradients (ops64.h)
 *
 * The type is looked at once for a call, outside of the loops.
 */
#ifndef TG_NN_OPS_H
#define TG_NN_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/matrix.h"
#include "lib/nn/attention.h"
#include "lib/nn/dropout.h"
#include "lib/nn/embedding.h"
#include "lib/nn/gelu.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"

TG_API_BEGIN

/* m [N rows] = 0 */
void tg_op_zero(tg_matrix m, size_t N);

/* ---- float alone: where a model begins and ends */

void tg_op_embedding_forward(tg_matrix out, const int32_t *ids, const tg_embedding *embedding, size_t first,
                             size_t B, size_t T);
void tg_op_embedding_backward(tg_matrix dout, const int32_t *ids, const tg_embedding *embedding, size_t B,
                              size_t T);
void tg_op_dropout_apply(tg_matrix m, const tg_dropout *drop, size_t N);

/* Float or bf16; dinp.data may be NULL.  logits: scratch of tg_head_logits() floats. */
void tg_op_head_loss(float *losses, tg_matrix dinp, tg_matrix inp, const int32_t *targets,
                     const tg_linear *head, float scale, size_t N, float *logits);

/* ---- all kinds */

/* Per row: its mean, and 1/sqrt(var + epsilon). */
typedef struct tg_norm_stats {
    tg_matrix mean, rstd; /* [N,1], of the type of the operation's input */
} tg_norm_stats;

void tg_op_layernorm_forward(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm,
                             size_t N);
void tg_op_layernorm_recompute(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm,
                               size_t N);
void tg_op_layernorm_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, tg_norm_stats stats,
                              const tg_layernorm *norm, size_t N);

void tg_op_linear_forward(tg_matrix out, tg_matrix inp, const tg_linear *linear, size_t N);
void tg_op_linear_gelu_forward(tg_matrix out, tg_matrix pre, tg_matrix inp, const tg_linear *linear,
                               tg_gelu_kind kind, size_t N);
void tg_op_linear_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear, size_t N);

void tg_op_gelu_forward(tg_matrix out, tg_matrix inp, size_t N, tg_gelu_kind kind);

/* q, k and v may be columns of wider matrices: the distances of their rows are theirs, not a's. */
typedef struct tg_qkv {
    tg_matrix q, k, v;
} tg_qkv;

void tg_op_attention_forward(tg_matrix out, tg_matrix lse, const tg_qkv *inp, const tg_attention *a);
/* dinp is written, in the layout of inp. */
void tg_op_attention_backward(const tg_qkv *dinp, tg_matrix dout, tg_matrix out, tg_matrix lse,
                              const tg_qkv *inp, const tg_attention *a);

void tg_op_residual_forward(tg_matrix out, tg_matrix residual, tg_matrix inp, const tg_linear *linear,
                            const tg_dropout *drop, size_t N);
void tg_op_residual_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear,
                             const tg_dropout *drop, tg_matrix scratch, size_t N);
void tg_op_residual_after_gelu_backward(tg_matrix dpre, tg_matrix dout, tg_matrix inp, tg_matrix pre,
                                        const tg_linear *linear, tg_gelu_kind kind, const tg_dropout *drop,
                                        tg_matrix scratch, size_t N);

/* Place attention's scratch (see arena.h) for up to `keys` keys, and the a->B, H, KV and D given; `type` is
 * q's.  In float and bf16, B does not matter. */
void tg_op_attention_place(tg_arena *arena, tg_attention_scratch *scratch, tg_type type, size_t keys,
                           const tg_attention *a);

TG_API_END

#endif
