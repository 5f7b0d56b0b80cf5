/*
 * nanochat's model, as transformers has it, top to bottom.
 *
 *     x = norm(embed[ids])
 *     for each block
 *         q, k, v = norm(x) Wq^T, norm(x) Wk^T, norm(x) Wv^T
 *         q, k = each head of them normed, then rotated by its position
 *         att = softmax(q k^T / sqrt(D)) v, causal; H/KV heads of queries read one head of keys and values
 *         x2 = x + att Wo^T
 *         x  = x2 + relu(norm(x2) Wfc^T)^2 Wproj^T
 *     logits = norm(x) head^T, then capped
 *
 * No norm has gains: norm(x) = x / sqrt(mean of x^2 + epsilon).  nanochat rotates by the angle's negative,
 * and norms afterwards.  With the halves of each head of Wq and Wk exchanged, which is a matter of its files
 * (lib/models/names.c), the former is a rotation by the angle; and a norm without gains of all that is
 * rotated is the same before and after.
 *
 * A line is an operation on all N = B*T tokens, as in lib/gpt/gpt2.c.
 * Source: github.com/karpathy/nanochat, October 2025; models/nanochat of transformers.
 */
#include "lib/gpt/nanochat.h"

#include "lib/gpt/family.h"
#include "lib/nn/ops.h"

/* Short names on this page.  Sizes are in llama.h and nanochat.h, and what is kept in llama_params.c. */
enum {
    X = TG_LLAMA_X,
    ATT = TG_LLAMA_ATT,
    X2 = TG_NANOCHAT_X2,
    NORM_2 = TG_NANOCHAT_NORM_2,
    FC = TG_NANOCHAT_FC,
    ACT = TG_NANOCHAT_ACT,
    NEXT = TG_NANOCHAT_NEXT
};

/* ---- forward */

static void look_up(tg_acts *a, const int32_t *ids)
{
    const tg_embedding wte = tg_bind_embedding(&a->bound, ids, a->B * a->T);

    tg_embedding_forward(tg_floats(tg_acts_row(a, 0, X)), ids, &wte, 0, a->B, a->T);
}

static void embed(tg_acts *a, const int32_t *ids)
{
    const tg_dropout drop = tg_acts_drop(a, 0, 0);
    const tg_matrix x = tg_acts_row(a, 0, X);

    look_up(a, ids);
    tg_llama_norm(a, x, x, a->B * a->T);
    tg_dropout_apply(tg_floats(x), &drop, a->B * a->T * a->C);
}

static void forward(tg_block *b)
{
    tg_llama_attention(b);
    tg_block_residual(b, X2, X, ATT, TG_ATT_PROJ_W);

    tg_block_rmsnorm(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear_activation(b, ACT, FC, NORM_2, TG_FC_W);
    tg_block_residual(b, NEXT, X2, ACT, TG_FC_PROJ_W);
}

/* ---- backward: the same operations from the last to the first, and what they need again */

static void backward(tg_block *b)
{
    tg_block_residual_again(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_activation_again(b, ACT, FC);
    tg_block_residual_activation_backward(b, NEXT, X2, ACT, FC, TG_FC_PROJ_W);
    tg_block_rmsnorm_again(b, NORM_2, X2, TG_LN2_W);
    tg_block_linear_backward(b, FC, NORM_2, TG_FC_W);
    tg_block_rmsnorm_backward(b, NORM_2, X2, TG_LN2_W);

    tg_block_residual_backward(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_llama_attention_backward(b);
}

/* Through the norm of the vectors of tokens, which are looked up again, in the place of x. */
static void embed_backward(tg_acts *a, const int32_t *ids)
{
    const tg_embedding wte = tg_bind_embedding(&a->bound, ids, a->B * a->T);
    const tg_rmsnorm norm = tg_bind_rmsnorm(&a->bound, TG_LNF_W, 0);
    const tg_dropout drop = tg_acts_drop(a, 0, 0);
    const size_t N = a->B * a->T;
    const tg_matrix x = tg_acts_row(a, 0, X), dx = tg_acts_gradient(a, X);
    const tg_matrix dvectors = tg_acts_scratch(a, TG_SCRATCH_DNORMED, a->C);

    tg_dropout_apply(tg_floats(dx), &drop, N * a->C);
    look_up(a, ids);
    tg_rmsnorm_forward(dvectors, a->final_stats.rstd, x, &norm, N); /* for rstd */
    tg_rmsnorm_backward(dvectors, false, dx, a->final_stats.rstd, x, &norm, N);
    tg_embedding_backward(tg_floats(dvectors), ids, &wte, a->B, a->T);
}

const tg_page tg_nanochat_page = {
    .embed = embed,
    .forward = forward,
    .norm_forward = tg_llama_norm,
    .norm_backward = tg_llama_norm_backward,
    .backward = backward,
    .embed_backward = embed_backward,
};
