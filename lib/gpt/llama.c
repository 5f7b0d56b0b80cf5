/*
 * Llama and its relatives, top to bottom.
 *
 *     x = embed[ids]
 *     for each block
 *         q, k, v = norm_1(x) Wq^T, norm_1(x) Wk^T, norm_1(x) Wv^T
 *         q, k = each head of them normed (Qwen3), then rotated by its position
 *         att = softmax(q k^T / sqrt(D)) v, causal; H/KV heads of queries read one head of keys and values
 *         x2 = x + att Wo^T
 *         x  = x2 + (silu(norm_2(x2) Wg^T) * norm_2(x2) Wu^T) Wd^T
 *     logits = norm(x) head^T
 *
 * A line is an operation on all N = B*T tokens, as in lib/gpt/gpt2.c; a row that a model's config leaves out
 * is the row before it, and its operation does nothing (lib/gpt/acts.h).
 *
 * Sources: Touvron et al. 2023, arXiv:2302.13971; Ainslie et al. 2023, arXiv:2305.13245 (grouped heads); Qwen
 * Team 2025, arXiv:2505.09388 (norms of q and k).
 */
#include "lib/gpt/llama.h"

#include "lib/gpt/family.h"
#include "lib/gpt/gpt2.h"

/* Short names on this page.  Sizes are in llama.h, and what is kept in llama_params.c. */
enum {
    X = TG_LLAMA_X,
    NORM_1 = TG_LLAMA_NORM_1,
    Q = TG_LLAMA_Q,
    K = TG_LLAMA_K,
    V = TG_LLAMA_V,
    Q_NORMED = TG_LLAMA_Q_NORMED,
    K_NORMED = TG_LLAMA_K_NORMED,
    Q_ROTATED = TG_LLAMA_Q_ROTATED,
    K_ROTATED = TG_LLAMA_K_ROTATED,
    ATT = TG_LLAMA_ATT,
    X2 = TG_LLAMA_X2,
    NORM_2 = TG_LLAMA_NORM_2,
    GATE = TG_LLAMA_GATE,
    UP = TG_LLAMA_UP,
    GATED = TG_LLAMA_GATED,
    NEXT = TG_LLAMA_NEXT
};

/* ---- forward */

void tg_llama_attention(tg_block *b)
{
    tg_block_rmsnorm(b, NORM_1, X, TG_LN1_W);
    tg_block_linear(b, Q, NORM_1, TG_Q_W);
    tg_block_linear(b, K, NORM_1, TG_K_W);
    tg_block_linear(b, V, NORM_1, TG_V_W);
    tg_block_rmsnorm(b, Q_NORMED, Q, TG_Q_NORM_W);
    tg_block_rmsnorm(b, K_NORMED, K, TG_K_NORM_W);
    tg_block_rotate(b, Q_ROTATED, Q_NORMED);
    tg_block_rotate(b, K_ROTATED, K_NORMED);
    tg_block_attention(b, ATT, Q_ROTATED, K_ROTATED, V);
}

static void forward(tg_block *b)
{
    tg_llama_attention(b);
    tg_block_residual(b, X2, X, ATT, TG_ATT_PROJ_W);

    tg_block_rmsnorm(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear(b, GATE, NORM_2, TG_GATE_W);
    tg_block_linear(b, UP, NORM_2, TG_UP_W);
    tg_block_gate(b, GATED, GATE, UP);
    tg_block_residual(b, NEXT, X2, GATED, TG_FC_PROJ_W);
}

void tg_llama_norm(tg_acts *a, tg_matrix out, tg_matrix x, size_t rows)
{
    const tg_rmsnorm norm = tg_bind_rmsnorm(&a->bound, TG_LNF_W, 0);

    tg_rmsnorm_forward(out, a->final_stats.rstd, x, &norm, rows);
}

/* ---- backward: the same operations from the last to the first, and what they need again */

void tg_llama_norm_backward(tg_acts *a, tg_matrix dx, tg_matrix dout, tg_matrix x, size_t rows)
{
    const tg_rmsnorm norm = tg_bind_rmsnorm(&a->bound, TG_LNF_W, 0);

    tg_rmsnorm_backward(dx, true, dout, a->final_stats.rstd, x, &norm, rows);
}

void tg_llama_attention_backward(tg_block *b)
{
    tg_block_attention_backward(b, ATT, Q_ROTATED, K_ROTATED, V);
    tg_block_rotate_backward(b, K_ROTATED, K_NORMED);
    tg_block_rotate_backward(b, Q_ROTATED, Q_NORMED);
    tg_block_rmsnorm_backward(b, K_NORMED, K, TG_K_NORM_W);
    tg_block_rmsnorm_backward(b, Q_NORMED, Q, TG_Q_NORM_W);
    tg_block_rmsnorm_again(b, NORM_1, X, TG_LN1_W);
    tg_block_linear_backward(b, V, NORM_1, TG_V_W);
    tg_block_linear_backward(b, K, NORM_1, TG_K_W);
    tg_block_linear_backward(b, Q, NORM_1, TG_Q_W);
    tg_block_rmsnorm_backward(b, NORM_1, X, TG_LN1_W);
}

static void backward(tg_block *b)
{
    tg_block_residual_again(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_gate_again(b, GATED, GATE, UP);
    tg_block_residual_backward(b, NEXT, X2, GATED, TG_FC_PROJ_W);
    tg_block_gate_backward(b, GATED, GATE, UP);
    tg_block_rmsnorm_again(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear_backward(b, UP, NORM_2, TG_UP_W);
    tg_block_linear_backward(b, GATE, NORM_2, TG_GATE_W);
    tg_block_rmsnorm_backward(b, NORM_2, X2, TG_LN2_W);

    tg_block_residual_backward(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_llama_attention_backward(b);
}

const tg_page tg_llama_page = {
    .embed = tg_gpt2_embed,
    .forward = forward,
    .norm_forward = tg_llama_norm,
    .norm_backward = tg_llama_norm_backward,
    .backward = backward,
    .embed_backward = tg_gpt2_embed_backward,
};
