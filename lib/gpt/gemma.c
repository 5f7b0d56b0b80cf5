/*
 * Gemma 2 and 3 and OLMo 2, top to bottom: as Llama (lib/gpt/llama.c), but what a sublayer adds is normed.
 *
 *     x = embed[ids] scale
 *     for each block
 *         q, k, v = norm_1(x) Wq^T, norm_1(x) Wk^T, norm_1(x) Wv^T
 *         q, k = normed, if the model has norms for them, then rotated by their position
 *         att = softmax(q k^T scale) v, causal
 *         x2 = x + norm_out(att Wo^T)
 *         x  = x2 + norm_down((act(norm_2(x2) Wg^T) * norm_2(x2) Wu^T) Wd^T)
 *     logits = norm(x) head^T, capped
 *
 * Gemma: the embedding's scale is sqrt(C), act is GELU; some layers see a window of the keys.  Gemma 2 caps
 * the scores and the logits.  Gemma 3 norms each head of q and k.  OLMo 2: no norm_1 and norm_2, the norm of
 * q and of k is over all heads at once, act is SiLU.
 *
 * Sources: Gemma Team 2024, arXiv:2408.00118; 2025, arXiv:2503.19786; OLMo Team 2024, arXiv:2501.00656.
 */
#include "lib/gpt/gemma.h"

#include "lib/gpt/family.h"
#include "lib/gpt/gpt2.h"

/* Short names on this page.  Sizes are in gemma.h and llama.h, and what is kept in llama_params.c. */
enum {
    X = TG_LLAMA_X,
    ATT = TG_LLAMA_ATT,
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
    tg_llama_attention(b);
    tg_block_linear(b, OUT, ATT, TG_ATT_PROJ_W);
    tg_block_rmsnorm(b, OUT_NORMED, OUT, TG_OUT_NORM_W);
    tg_block_add(b, X2, X, OUT_NORMED);

    tg_block_rmsnorm(b, NORM_2, X2, TG_LN2_W);
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
    tg_block_rmsnorm_again(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear_backward(b, UP, NORM_2, TG_UP_W);
    tg_block_linear_backward(b, GATE, NORM_2, TG_GATE_W);
    tg_block_rmsnorm_backward(b, NORM_2, X2, TG_LN2_W);

    tg_block_add_backward(b, X2, X, OUT_NORMED);
    tg_block_rmsnorm_backward(b, OUT_NORMED, OUT, TG_OUT_NORM_W);
    tg_block_linear_backward(b, OUT, ATT, TG_ATT_PROJ_W);
    tg_llama_attention_backward(b);
}

const tg_page tg_gemma_page = {
    .embed = tg_gpt2_embed,
    .forward = forward,
    .norm_forward = tg_llama_norm,
    .norm_backward = tg_llama_norm_backward,
    .backward = backward,
    .embed_backward = tg_gpt2_embed_backward,
};
