/*
 * GPT-NeoX, top to bottom: attention and MLP read the same x.
 *
 *     x = embed[ids]
 *     for each block
 *         q, k, v = ln_1(x) W^T + b, one after another
 *         q, k = the first channels of each head rotated by its position
 *         att = softmax(q k^T / sqrt(D)) v, causal, by head
 *         x = x + att W^T + b + gelu(ln_2(x) W^T + b) W^T + b
 *     logits = ln_f(x) head^T
 *
 * A line is an operation on all N = B*T tokens, as in lib/gpt/gpt2.c.
 * Source: Black et al. 2022, arXiv:2204.06745.
 */
#include "lib/gpt/neox.h"

#include "lib/gpt/family.h"
#include "lib/gpt/gpt2.h"

/* Short names on this page.  Sizes are in neox.h, and what is kept in neox_params.c. */
enum {
    X = TG_NEOX_X,
    LN_1 = TG_NEOX_LN_1,
    Q = TG_NEOX_Q,
    K = TG_NEOX_K,
    V = TG_NEOX_V,
    Q_ROTATED = TG_NEOX_Q_ROTATED,
    K_ROTATED = TG_NEOX_K_ROTATED,
    ATT = TG_NEOX_ATT,
    X2 = TG_NEOX_X2,
    LN_2 = TG_NEOX_LN_2,
    FC = TG_NEOX_FC,
    GELU = TG_NEOX_GELU,
    NEXT = TG_NEOX_NEXT
};

static void forward(tg_block *b)
{
    tg_block_layernorm(b, LN_1, X, TG_LN1_W);
    tg_block_linear(b, Q, LN_1, TG_Q_W);
    tg_block_linear(b, K, LN_1, TG_K_W);
    tg_block_linear(b, V, LN_1, TG_V_W);
    tg_block_rotate(b, Q_ROTATED, Q);
    tg_block_rotate(b, K_ROTATED, K);
    tg_block_attention(b, ATT, Q_ROTATED, K_ROTATED, V);
    tg_block_residual(b, X2, X, ATT, TG_ATT_PROJ_W);

    tg_block_layernorm(b, LN_2, X, TG_LN2_W);
    tg_block_linear_activation(b, GELU, FC, LN_2, TG_FC_W);
    tg_block_residual(b, NEXT, X2, GELU, TG_FC_PROJ_W);
}

/* Both sublayers' results have the gradient of the sum; what they contribute to x's is added to it
 * afterwards. */
static void backward(tg_block *b)
{
    tg_block_activation_again(b, GELU, FC);
    tg_block_residual_activation_backward(b, NEXT, X2, GELU, FC, TG_FC_PROJ_W);
    tg_block_residual_backward(b, X2, X, ATT, TG_ATT_PROJ_W);

    tg_block_layernorm_again(b, LN_2, X, TG_LN2_W);
    tg_block_linear_backward(b, FC, LN_2, TG_FC_W);
    tg_block_layernorm_backward(b, LN_2, X, TG_LN2_W);

    tg_block_attention_backward(b, ATT, Q_ROTATED, K_ROTATED, V);
    tg_block_rotate_backward(b, K_ROTATED, K);
    tg_block_rotate_backward(b, Q_ROTATED, Q);
    tg_block_layernorm_again(b, LN_1, X, TG_LN1_W);
    tg_block_linear_backward(b, V, LN_1, TG_V_W);
    tg_block_linear_backward(b, K, LN_1, TG_K_W);
    tg_block_linear_backward(b, Q, LN_1, TG_Q_W);
    tg_block_layernorm_backward(b, LN_1, X, TG_LN1_W);
}

const tg_page tg_neox_page = {
    .embed = tg_gpt2_embed,
    .forward = forward,
    .norm_forward = tg_gpt2_norm,
    .norm_backward = tg_gpt2_norm_backward,
    .backward = backward,
    .embed_backward = tg_gpt2_embed_backward,
};
