/*
 * Gemma 2 and 3 and OLMo 2, top to bottom: as Llama (lib/gpt/llama.c), but what a sublayer adds is normed.
 *
 *     x = embed[ids] scale                                                     scale is sqrt(C) in Gemma
 *     for each block
 *         y = norm_1(x)                                                        OLMo 2: x
 *         q, k, v = y Wq^T, y Wk^T, y Wv^T
 *         q, k = each head of them normed (Gemma 3), or all heads at once (OLMo 2); then rotated by its
 * position att = softmax(q k^T scale) v, causal; in some of Gemma's layers within a window, in Gemma 2 capped
 *         x2 = x + norm_out(att Wo^T)
 *         y = norm_2(x2)                                                       OLMo 2: x2
 *         x = x2 + norm_down((act(y Wg^T) * y Wu^T) Wd^T)                      act is GELU in Gemma, SiLU in
 * OLMo 2 logits = norm(x) head^T
 *
 * Sources: Gemma Team 2024, arXiv:2408.00118; 2025, arXiv:2503.19786; OLMo Team 2024, arXiv:2501.00656.
 */
#include "lib/gpt/gemma.h"

#include "lib/gpt/family.h"
#include "lib/gpt/gpt2.h"

/* Short names on this page.  Sizes are in gemma.h, and what is kept in gemma_params.c. */
enum {
    X = TG_GEMMA_X,
    NORM_1 = TG_GEMMA_NORM_1,
    Q = TG_GEMMA_Q,
    K = TG_GEMMA_K,
    V = TG_GEMMA_V,
    Q_NORMED = TG_GEMMA_Q_NORMED,
    K_NORMED = TG_GEMMA_K_NORMED,
    Q_ROTATED = TG_GEMMA_Q_ROTATED,
    K_ROTATED = TG_GEMMA_K_ROTATED,
    ATT = TG_GEMMA_ATT,
    OUT = TG_GEMMA_OUT,
    OUT_NORMED = TG_GEMMA_OUT_NORMED,
    X2 = TG_GEMMA_X2,
    NORM_2 = TG_GEMMA_NORM_2,
    GATE = TG_GEMMA_GATE,
    UP = TG_GEMMA_UP,
    GATED = TG_GEMMA_GATED,
    DOWN = TG_GEMMA_DOWN,
    DOWN_NORMED = TG_GEMMA_DOWN_NORMED,
    NEXT = TG_GEMMA_NEXT
};

static void forward(tg_block *b)
{
    tg_block_prenorm(b, NORM_1, X, TG_LN1_W);
    tg_block_linear(b, Q, NORM_1, TG_Q_W);
    tg_block_linear(b, K, NORM_1, TG_K_W);
    tg_block_linear(b, V, NORM_1, TG_V_W);
    tg_block_rmsnorm(b, Q_NORMED, Q, TG_Q_NORM_W);
    tg_block_rmsnorm(b, K_NORMED, K, TG_K_NORM_W);
    tg_block_rotate(b, Q_ROTATED, Q_NORMED);
    tg_block_rotate(b, K_ROTATED, K_NORMED);
    tg_block_attention(b, ATT, Q_ROTATED, K_ROTATED, V);
    tg_block_linear(b, OUT, ATT, TG_ATT_PROJ_W);
    tg_block_rmsnorm(b, OUT_NORMED, OUT, TG_OUT_NORM_W);
    tg_block_add(b, X2, X, OUT_NORMED);

    tg_block_prenorm(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear(b, GATE, NORM_2, TG_GATE_W);
    tg_block_linear(b, UP, NORM_2, TG_UP_W);
    tg_block_gate(b, GATED, GATE, UP);
    tg_block_linear(b, DOWN, GATED, TG_FC_PROJ_W);
    tg_block_rmsnorm(b, DOWN_NORMED, DOWN, TG_DOWN_NORM_W);
    tg_block_add(b, NEXT, X2, DOWN_NORMED);
}

static void backward(tg_block *b)
{
    tg_block_add_backward(b, NEXT, X2, DOWN_NORMED);
    tg_block_rmsnorm_backward(b, DOWN_NORMED, DOWN, TG_DOWN_NORM_W);
    tg_block_gate_again(b, GATED, GATE, UP);
    tg_block_linear_backward(b, DOWN, GATED, TG_FC_PROJ_W);
    tg_block_gate_backward(b, GATED, GATE, UP);
    tg_block_prenorm_again(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear_backward(b, UP, NORM_2, TG_UP_W);
    tg_block_linear_backward(b, GATE, NORM_2, TG_GATE_W);
    tg_block_prenorm_backward(b, NORM_2, X2, TG_LN2_W);

    tg_block_add_backward(b, X2, X, OUT_NORMED);
    tg_block_rmsnorm_backward(b, OUT_NORMED, OUT, TG_OUT_NORM_W);
    tg_block_linear_backward(b, OUT, ATT, TG_ATT_PROJ_W);
    tg_block_attention_backward(b, ATT, Q_ROTATED, K_ROTATED, V);
    tg_block_rotate_backward(b, K_ROTATED, K_NORMED);
    tg_block_rotate_backward(b, Q_ROTATED, Q_NORMED);
    tg_block_rmsnorm_backward(b, K_NORMED, K, TG_K_NORM_W);
    tg_block_rmsnorm_backward(b, Q_NORMED, Q, TG_Q_NORM_W);
    tg_block_prenorm_again(b, NORM_1, X, TG_LN1_W);
    tg_block_linear_backward(b, V, NORM_1, TG_V_W);
    tg_block_linear_backward(b, K, NORM_1, TG_K_W);
    tg_block_linear_backward(b, Q, NORM_1, TG_Q_W);
    tg_block_prenorm_backward(b, NORM_1, X, TG_LN1_W);
}

const tg_page tg_gemma_page = {
    .embed = tg_gpt2_embed,
    .forward = forward,
    .norm_forward = tg_llama_norm,
    .norm_backward = tg_llama_norm_backward,
    .backward = backward,
    .embed_backward = tg_gpt2_embed_backward,
};
