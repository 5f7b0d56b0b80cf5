/*
 * The family's parameters and its steps.
 *
 *     x = wte[ids] + wpe
 *     for each block
 *         q, k, v = ln_1(x) W + b
 *         att = softmax(q k^T / sqrt(D)) v, causal, by head
 *         x2 = x + att W + b
 *         x  = x2 + gelu(ln_1(x) W + b) W + b
 *     logits = ln_f(x) wte^T
 *
 * Only x2 and x differ from GPT-2's, and in backward what undoes them.
 * Source: Black et al. 2022, arXiv:2204.06745, section 2.1, after GPT-J's.
 */
#include "tests/unit/family_parallel.h"

#include "lib/gpt/gpt2.h"
#include "lib/nn/ops.h"

/* ---- forward */

/*
 * x2 = x + att W + b, and fc, gelu = gelu(ln_1(x) W + b)
 *
 * The MLP's first half comes first, and ln_1(x) is recomputed: in place, x2 overwrites x, and x and att are
 * all that this step may rely on.
 */
static void x2(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const size_t N = a->B * a->T;

    tg_op_layernorm_forward(a->normed, tg_acts_stats(s, TG_ACT_LN1_MEAN), s[TG_ACT_X], &P.ln_1, N);
    tg_op_linear_gelu_forward(s[TG_ACT_GELU], s[TG_ACT_FC], a->normed, &P.fc, P.activation, N);
    tg_gpt2_x2(a, l);
}

/* the next x = x2 + gelu W + b */
static void x(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_MLP, l);

    tg_op_residual_forward(tg_acts_next_x(a, l), s[TG_ACT_X2], s[TG_ACT_GELU], &P.fc_proj, &drop,
                           a->B * a->T);
}

/* ---- backward */

/* From dx of the block's output, which is also dx of x2: the gradient of ln_1's output as the MLP's input
 * waits in x2 for qkv_backward. */
static void x_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];
    const tg_dropout drop = tg_gpt2_drop_at(a, TG_SITE_MLP, l);
    const size_t N = a->B * a->T;

    if (a->again[TG_ACT_GELU])
        tg_op_gelu_forward(s[TG_ACT_GELU], s[TG_ACT_FC], N, P.activation);
    tg_op_residual_after_gelu_backward(a->wide, a->dx, s[TG_ACT_GELU], s[TG_ACT_FC], &P.fc_proj, P.activation,
                                       &drop, a->normed, N);
    tg_op_layernorm_recompute(a->normed, tg_acts_stats(s, TG_ACT_LN1_MEAN), s[TG_ACT_X], &P.ln_1, N);
    tg_op_linear_backward(s[TG_ACT_X2], a->wide, a->normed, &P.fc, N);
}

/* From dqkv in wide, and the MLP's part in x2, to dx of x. */
static void qkv_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_matrix *s = a->block[l];

    tg_gpt2_qkv_backward(a, l);
    tg_op_layernorm_backward(a->dx, s[TG_ACT_X2], s[TG_ACT_X], tg_acts_stats(s, TG_ACT_LN1_MEAN), &P.ln_1,
                             a->B * a->T);
}

static const tg_steps steps = {
    .embed = tg_gpt2_embed,
    .forward = {tg_gpt2_qkv, tg_gpt2_att, x2, x},
    .logits = tg_gpt2_logits,
    .loss = tg_gpt2_loss,
    .logits_backward = tg_gpt2_logits_backward,
    .loss_backward = tg_gpt2_loss_backward,
    .backward = {qkv_backward, tg_gpt2_att_backward, tg_gpt2_x2_backward, x_backward},
    .embed_backward = tg_gpt2_embed_backward,
};

/* ---- the parameters */

static const tg_param_row rows[] = {
    {TG_WPE, "positions.weight", false, {TG_DIM_CTX, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_WTE, "tokens.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_FC_W, "mlp.up.weight", true, {TG_DIM_C, TG_DIM_4C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_FC_B, "mlp.up.bias", true, {TG_DIM_4C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_FC_PROJ_W, "mlp.down.weight", true, {TG_DIM_4C, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_FC_PROJ_B, "mlp.down.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_ATT_PROJ_W, "attention.dense.weight", true, {TG_DIM_C, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_ATT_PROJ_B, "attention.dense.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_QKV_W, "attention.qkv.weight", true, {TG_DIM_C, TG_DIM_3C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_QKV_B, "attention.qkv.bias", true, {TG_DIM_3C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_LN1_B, "norm.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_LN1_W, "norm.weight", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_ONE},
    {TG_HEAD_B, "head.bias", false, {TG_DIM_VOCAB, TG_DIM_NONE}, TG_IF_HEAD_BIAS, TG_START_ZERO},
    {TG_HEAD_W, "head.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL},
    {TG_LNF_B, "final_norm.bias", false, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_LNF_W, "final_norm.weight", false, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_ONE},
};

const tg_family family_parallel = {
    .name = "parallel",
    .block = "transformer.layers",
    .row = rows,
    .n_rows = sizeof rows / sizeof rows[0],
    .act = tg_gpt2_acts,
    .n_acts = TG_GPT2_ACTS,
    .steps = &steps,
};
