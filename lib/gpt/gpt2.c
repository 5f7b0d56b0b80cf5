/*
 * GPT-2, top to bottom.
 *
 *     x = wte[ids] + wpe
 *     for each block
 *         q, k, v = ln_1(x) W + b
 *         att = softmax(q k^T / sqrt(D)) v, causal, by head
 *         x2 = x + att W + b
 *         x  = x2 + gelu(ln_2(x2) W + b) W + b
 *     logits = ln_f(x) wte^T
 *
 * A line is an operation on all N = B*T tokens (lib/gpt/block.h): the activation that it computes, those that
 * it reads, and its weight.  The loop over blocks is lib/gpt/layers.c, the logits and the loss are
 * lib/gpt/head.c, for training, evaluation, decoding and derivations.
 * Source: Radford et al. 2019, "Language Models are Unsupervised Multitask Learners".
 */
#include "lib/gpt/gpt2.h"

#include "lib/gpt/family.h"
#include "lib/nn/ops.h"

/* Short names on this page.  Sizes are in gpt2.h, and what is kept in gpt2_params.c. */
enum {
    X = TG_GPT2_X,
    LN_1 = TG_GPT2_LN_1,
    QKV = TG_GPT2_QKV,
    Q = TG_GPT2_Q,
    K = TG_GPT2_K,
    V = TG_GPT2_V,
    ATT = TG_GPT2_ATT,
    X2 = TG_GPT2_X2,
    LN_2 = TG_GPT2_LN_2,
    FC = TG_GPT2_FC,
    GELU = TG_GPT2_GELU,
    NEXT = TG_GPT2_NEXT
};

/* ---- forward */

void tg_gpt2_embed(tg_acts *a, const int32_t *ids)
{
    tg_embedding wte_wpe = tg_bind_embedding(&a->bound, ids, a->B * a->T);
    const tg_dropout drop = tg_acts_drop(a, 0, 0);
    const tg_matrix x = tg_acts_row(a, 0, X);

    wte_wpe.positions = a->positions;
    tg_embedding_forward(tg_floats(x), ids, &wte_wpe, a->cache ? a->cache->past : 0, a->B, a->T);
    tg_dropout_apply(tg_floats(x), &drop, a->B * a->T * a->C);
}

static void forward(tg_block *b)
{
    tg_block_layernorm(b, LN_1, X, TG_LN1_W);
    tg_block_linear(b, QKV, LN_1, TG_QKV_W);
    tg_block_attention(b, ATT, Q, K, V);
    tg_block_residual(b, X2, X, ATT, TG_ATT_PROJ_W);

    tg_block_layernorm(b, LN_2, X2, TG_LN2_W);
    tg_block_linear_activation(b, GELU, FC, LN_2, TG_FC_W);
    tg_block_residual(b, NEXT, X2, GELU, TG_FC_PROJ_W);
}

void tg_gpt2_norm(tg_acts *a, tg_matrix out, tg_matrix x, size_t rows)
{
    const tg_layernorm ln_f = tg_bind_layernorm(&a->bound, TG_LNF_W, 0);

    tg_layernorm_forward(out, a->final_stats, x, &ln_f, rows);
}

/* ---- backward: the same operations from the last to the first, and what they need again */

void tg_gpt2_norm_backward(tg_acts *a, tg_matrix dx, tg_matrix dout, tg_matrix x, size_t rows)
{
    const tg_layernorm ln_f = tg_bind_layernorm(&a->bound, TG_LNF_W, 0);

    tg_layernorm_backward(dx, dout, x, a->final_stats, &ln_f, rows);
}

static void backward(tg_block *b)
{
    tg_block_residual_again(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_activation_again(b, GELU, FC);
    tg_block_residual_activation_backward(b, NEXT, X2, GELU, FC, TG_FC_PROJ_W);
    tg_block_layernorm_again(b, LN_2, X2, TG_LN2_W);
    tg_block_linear_backward(b, FC, LN_2, TG_FC_W);
    tg_block_layernorm_backward(b, LN_2, X2, TG_LN2_W);

    tg_block_residual_backward(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_attention_backward(b, ATT, Q, K, V);
    tg_block_layernorm_again(b, LN_1, X, TG_LN1_W);
    tg_block_linear_backward(b, QKV, LN_1, TG_QKV_W);
    tg_block_layernorm_backward(b, LN_1, X, TG_LN1_W);
}

void tg_gpt2_embed_backward(tg_acts *a, const int32_t *ids)
{
    tg_embedding wte_wpe = tg_bind_embedding(&a->bound, ids, a->B * a->T);
    const tg_dropout drop = tg_acts_drop(a, 0, 0);
    const tg_matrix dx = tg_acts_gradient(a, X);

    wte_wpe.positions = a->positions;
    tg_dropout_apply(tg_floats(dx), &drop, a->B * a->T * a->C);
    tg_embedding_backward(tg_floats(dx), ids, &wte_wpe, a->B, a->T);
}

const tg_page tg_gpt2_page = {
    .embed = tg_gpt2_embed,
    .forward = forward,
    .norm_forward = tg_gpt2_norm,
    .norm_backward = tg_gpt2_norm_backward,
    .backward = backward,
    .embed_backward = tg_gpt2_embed_backward,
};
