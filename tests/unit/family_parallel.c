/*
 * The family's parameters and its steps.
 *
 *     x = wte[ids] + wpe
 *     for each block
 *         q, k, v = ln_1(x) W + b                              project
 *         att = softmax(q k^T / sqrt(D)) v, causal, by head    attend
 *         x2 = x + att W + b                                   finish
 *         x  = x2 + gelu(ln_1(x) W + b) W + b
 *     logits = ln_f(x) wte^T
 *
 * Only finish differs from GPT-2's, and in backward what undoes it.
 * Source: Black et al. 2022, arXiv:2204.06745, section 2.1, after GPT-J's.
 */
#include "tests/unit/family_parallel.h"

#include "lib/gpt/gpt2.h"
#include "lib/nn/ops.h"

/* Where training drops activations: GPT-2's sites and random numbers, SITE_PROBS in its attend. */
enum site { SITE_EMBEDDING, SITE_PROBS, SITE_ATTENTION, SITE_MLP };

static tg_dropout drop_at(const tg_acts *a, enum site site, size_t l)
{
    tg_dropout drop = {.p = a->dropout, .rng = a->rng};

    drop.rng.purpose = TG_RNG_DROPOUT | (uint32_t)(l * 4 + site) << 8;
    return drop;
}

/* ---- forward */

/*
 * x2 = x + att W + b; the next x = x2 + gelu(ln_1(x) W + b) W + b
 *
 * ln_1(x) is recomputed: x and att are all that finish may rely on.  The MLP's first half comes
 * first: in place, x2 overwrites x.
 */
static void finish(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const tg_dropout drop_att = drop_at(a, SITE_ATTENTION, l), drop_mlp = drop_at(a, SITE_MLP, l);
    const size_t N = a->B * a->T;
    const tg_matrix out = l + 1 < a->L ? a->block[l + 1].x : a->x;

    tg_op_layernorm_forward(a->normed, s->ln_1, s->x, &P.ln_1, N);
    tg_op_linear_gelu_forward(s->gelu, s->fc, a->normed, &P.fc, P.activation, N);
    tg_op_residual_forward(s->x2, s->x, s->att, &P.att_proj, &drop_att, N);
    tg_op_residual_forward(out, s->x2, s->gelu, &P.fc_proj, &drop_mlp, N);
}

/* ---- backward */

/* From dx of the block's output, which is dx of x2 too, to datt.  The gradient of
 * ln_1's output as the MLP's input waits in x2 for project_backward. */
static void finish_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];
    const tg_dropout drop_att = drop_at(a, SITE_ATTENTION, l), drop_mlp = drop_at(a, SITE_MLP, l);
    const size_t N = a->B * a->T;

    /* out = x2 + wide W + b, wide = gelu(fc) */
    if (a->recompute_gelu)
        tg_op_gelu_forward(s->gelu, s->fc, N, P.activation);
    tg_op_residual_after_gelu_backward(a->wide, a->dx, s->gelu, s->fc, &P.fc_proj, P.activation, &drop_mlp,
                                       a->normed, N);

    /* fc = ln_1(x) W + b */
    tg_op_layernorm_recompute(a->normed, s->ln_1, s->x, &P.ln_1, N);
    tg_op_linear_backward(s->x2, a->wide, a->normed, &P.fc, N);

    /* x2 = x + att W + b */
    tg_op_residual_backward(a->datt, a->dx, s->att, &P.att_proj, &drop_att, a->normed, N);
}

/* From dqkv in wide, and the MLP's part in x2, to dx of x. */
static void project_backward(tg_acts *a, size_t l)
{
    const tg_block P = tg_bind_block(&a->bound, l);
    const tg_block_acts *s = &a->block[l];

    tg_gpt2_project_backward(a, l);
    tg_op_layernorm_backward(a->dx, s->x2, s->x, s->ln_1, &P.ln_1, a->B * a->T);
}

static const tg_steps steps = {
    .embed = tg_gpt2_embed,
    .project = tg_gpt2_project,
    .attend = tg_gpt2_attend,
    .finish = finish,
    .logits = tg_gpt2_logits,
    .loss = tg_gpt2_loss,
    .logits_backward = tg_gpt2_logits_backward,
    .loss_backward = tg_gpt2_loss_backward,
    .finish_backward = finish_backward,
    .attend_backward = tg_gpt2_attend_backward,
    .project_backward = project_backward,
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
    .steps = &steps,
};
