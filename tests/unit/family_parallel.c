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
 * Its rows differ from GPT-2's in their order, which is that of its operations.
 * Source: Black et al. 2022, arXiv:2204.06745, section 2.1, after GPT-J's.
 */
#include "tests/unit/family_parallel.h"

#include "lib/gpt/gpt2.h"

/* A block's rows, in the order in which they are computed. */
enum {
    X = TG_ACT_X,
    LN,
    LN_MEAN,
    LN_RSTD,
    QKV,
    Q,
    K,
    V,
    ATT,
    LSE,
    LN_2,
    LN_2_MEAN,
    LN_2_RSTD,
    FC,
    GELU,
    X2,
    NEXT,
    ACTS
};

static void forward(tg_block *b)
{
    tg_block_layernorm(b, LN, X, TG_LN1_W);
    tg_block_linear(b, QKV, LN, TG_QKV_W);
    tg_block_attention(b, ATT, Q, K, V);

    tg_block_layernorm(b, LN_2, X, TG_LN1_W); /* again: a run may begin here with x and att */
    tg_block_linear_activation(b, GELU, FC, LN_2, TG_FC_W);
    tg_block_residual(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_residual(b, NEXT, X2, GELU, TG_FC_PROJ_W);
}

static void backward(tg_block *b)
{
    tg_block_activation_again(b, GELU, FC);
    tg_block_residual_activation_backward(b, NEXT, X2, GELU, FC, TG_FC_PROJ_W);
    tg_block_layernorm_again(b, LN_2, X, TG_LN1_W);
    tg_block_linear_backward(b, FC, LN, TG_FC_W); /* it is LN_2's gradient as well, to which QKV's is added */

    tg_block_residual_backward(b, X2, X, ATT, TG_ATT_PROJ_W);
    tg_block_attention_backward(b, ATT, Q, K, V);
    tg_block_layernorm_again(b, LN, X, TG_LN1_W);
    tg_block_linear_backward(b, QKV, LN, TG_QKV_W);
    tg_block_layernorm_backward(b, LN, X, TG_LN1_W);
}

/* clang-format off */
static const tg_act_row acts[ACTS] = {
    [X] = {"x", TG_DIM_C, .gradient = TG_SCRATCH_DX},
    [LN] = {"norm", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED, .gradient = TG_SCRATCH_FULL_1},
    [LN_MEAN] = {"norm.mean", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [LN_RSTD] = {"norm.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [QKV] = {"qkv", TG_DIM_QKV, .between = true, .gradient = TG_SCRATCH_WIDE},
    [Q] = {"q", TG_DIM_Q, .part_of = QKV, .first = TG_DIM_ZERO, .heads = TG_DIM_HEADS},
    [K] = {"k", TG_DIM_KV, .part_of = QKV, .first = TG_DIM_Q, .heads = TG_DIM_KV_HEADS},
    [V] = {"v", TG_DIM_KV, .part_of = QKV, .first = TG_DIM_Q_KV, .heads = TG_DIM_KV_HEADS},
    [ATT] = {"att", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_DATT, .drop_site = 1},
    [LSE] = {"lse", TG_DIM_HEADS, .keep = TG_KEEP_ALWAYS},
    [LN_2] = {"norm again", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED},
    [LN_2_MEAN] = {"mean again", TG_DIM_NONE, .over = LN_MEAN},
    [LN_2_RSTD] = {"rstd again", TG_DIM_NONE, .over = LN_RSTD},
    [FC] = {"fc", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_WIDE, .gradient = TG_SCRATCH_WIDE},
    [GELU] = {"gelu", TG_DIM_INNER, TG_KEEP_IF_SMALL, .between = true, .shared = TG_SCRATCH_WIDE, .gradient = TG_SCRATCH_WIDE, .over = FC},
    [X2] = {"x2", TG_DIM_C, TG_KEEP_NEVER, .gradient = TG_SCRATCH_DX, .over = X, .drop_site = 2},
    [NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true, .drop_site = 3},
};
/* clang-format on */

/* ---- the parameters */

/* clang-format off */
static const tg_param_row rows[] = {
    {TG_WPE, TG_USE_TABLE, "positions.weight", false, {TG_DIM_CTX, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_WTE, TG_USE_TABLE, "tokens.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_FC_W, TG_USE_MATRIX, "mlp.up.weight", true, {TG_DIM_C, TG_DIM_INNER}, TG_ALWAYS, TG_START_NORMAL},
    {TG_FC_B, TG_USE_BIAS, "mlp.up.bias", true, {TG_DIM_INNER, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_FC_PROJ_W, TG_USE_MATRIX, "mlp.down.weight", true, {TG_DIM_INNER, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_FC_PROJ_B, TG_USE_BIAS, "mlp.down.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_ATT_PROJ_W, TG_USE_MATRIX, "attention.dense.weight", true, {TG_DIM_C, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_ATT_PROJ_B, TG_USE_BIAS, "attention.dense.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_QKV_W, TG_USE_MATRIX, "attention.qkv.weight", true, {TG_DIM_C, TG_DIM_QKV}, TG_ALWAYS, TG_START_NORMAL},
    {TG_QKV_B, TG_USE_BIAS, "attention.qkv.bias", true, {TG_DIM_QKV, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_LN1_B, TG_USE_NORM, "norm.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_LN1_W, TG_USE_NORM, "norm.weight", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_GAIN},
    {TG_HEAD_B, TG_USE_BIAS, "head.bias", false, {TG_DIM_VOCAB, TG_DIM_NONE}, TG_IF_HEAD_BIAS, TG_START_ZERO},
    {TG_HEAD_W, TG_USE_MATRIX, "head.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL},
    {TG_LNF_B, TG_USE_NORM, "final_norm.bias", false, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_LNF_W, TG_USE_NORM, "final_norm.weight", false, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_GAIN},
};
/* clang-format on */

const tg_family family_parallel = {
    .name = "parallel",
    .block = "transformer.layers",
    .layernorm = true,
    .settings = TG_CONFIG_BIT(TG_CONFIG_GPT2) - 1,
    .row = rows,
    .n_rows = sizeof rows / sizeof rows[0],
    .act = acts,
    .n_acts = ACTS,
    .norm = LN,
    .qkv = QKV,
    .q = Q,
    .k = K,
    .v = V,
    .att = ATT,
    .mlp = LN_2,
    .mlp_in = X,
    .units = GELU,
};

const tg_page family_parallel_page = {
    .embed = tg_gpt2_embed,
    .forward = forward,
    .norm_forward = tg_gpt2_norm,
    .norm_backward = tg_gpt2_norm_backward,
    .backward = backward,
    .embed_backward = tg_gpt2_embed_backward,
};
