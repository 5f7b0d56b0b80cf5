/*
 * StableLM, top to bottom: as Llama (lib/gpt/llama.c), but with GPT-2's LayerNorm.
 *
 *     x = embed[ids]
 *     for each block
 *         q, k, v = ln_1(x) Wq^T + bq, ln_1(x) Wk^T + bk, ln_1(x) Wv^T + bv
 *         q, k = the first channels of each head rotated by its position
 *         att = softmax(q k^T / sqrt(D)) v, causal; H/KV heads of queries read one head of keys and values
 *         x2 = x + att Wo^T
 *         x  = x2 + (silu(ln_2(x2) Wg^T) * ln_2(x2) Wu^T) Wd^T
 *     logits = ln_f(x) head^T
 *
 * A line is an operation on all N = B*T tokens, as in lib/gpt/gpt2.c.
 * Source: Bellagente et al. 2024, arXiv:2402.17834.
 */
#include "lib/gpt/stablelm.h"

#include "lib/gpt/family.h"
#include "lib/gpt/gpt2.h"

/* Short names on this page.  Sizes are in stablelm.h, and what is kept in llama_params.c. */
enum {
    X = TG_STABLELM_X,
    LN_1 = TG_STABLELM_LN_1,
    Q = TG_STABLELM_Q,
    K = TG_STABLELM_K,
    V = TG_STABLELM_V,
    Q_ROTATED = TG_STABLELM_Q_ROTATED,
    K_ROTATED = TG_STABLELM_K_ROTATED,
    ATT = TG_STABLELM_ATT,
    X2 = TG_STABLELM_X2,
    LN_2 = TG_STABLELM_LN_2,
    GATE = TG_STABLELM_GATE,
    UP = TG_STABLELM_UP,
    GATED = TG_STABLELM_GATED,
    NEXT = TG_STABLELM_NEXT
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

    tg_block_layernorm(b, LN_2, X2, TG_LN2_W);
    tg_block_linear(b, GATE, LN_2, TG_GATE_W);
    tg_block_linear(b, UP, LN_2, TG_UP_W);
    tg_block_gate(b, GATED, GATE, UP);
    tg_block_residual(b, NEXT, X2, GATED, TG_FC_PROJ_W);
}

static void backward(tg_block *b)
{
    tg_block_residual_again(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_gate_again(b, GATED, GATE, UP);
    tg_block_residual_backward(b, NEXT, X2, GATED, TG_FC_PROJ_W);
    tg_block_gate_backward(b, GATED, GATE, UP);
    tg_block_layernorm_again(b, LN_2, X2, TG_LN2_W);
    tg_block_linear_backward(b, UP, LN_2, TG_UP_W);
    tg_block_linear_backward(b, GATE, LN_2, TG_GATE_W);
    tg_block_layernorm_backward(b, LN_2, X2, TG_LN2_W);

    tg_block_residual_backward(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_attention_backward(b, ATT, Q_ROTATED, K_ROTATED, V);
    tg_block_rotate_backward(b, K_ROTATED, K);
    tg_block_rotate_backward(b, Q_ROTATED, Q);
    tg_block_layernorm_again(b, LN_1, X, TG_LN1_W);
    tg_block_linear_backward(b, V, LN_1, TG_V_W);
    tg_block_linear_backward(b, K, LN_1, TG_K_W);
    tg_block_linear_backward(b, Q, LN_1, TG_Q_W);
    tg_block_layernorm_backward(b, LN_1, X, TG_LN1_W);
}

const tg_page tg_stablelm_page = {
    .embed = tg_gpt2_embed,
    .forward = forward,
    .norm_forward = tg_gpt2_norm,
    .norm_backward = tg_gpt2_norm_backward,
    .backward = backward,
    .embed_backward = tg_gpt2_embed_backward,
};
