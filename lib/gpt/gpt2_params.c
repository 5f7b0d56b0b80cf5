/* GPT-2's parameters, in the order of the file, and its activations.  Names and layouts of parameters are
 * Hugging Face's. */
#include "lib/gpt/family.h"
#include "lib/gpt/gpt2.h"

static const tg_param_row rows[] = {
    {TG_WTE, "wte.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_WPE, "wpe.weight", false, {TG_DIM_CTX, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_LN1_W, "ln_1.weight", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_ONE},
    {TG_LN1_B, "ln_1.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_QKV_W, "attn.c_attn.weight", true, {TG_DIM_C, TG_DIM_3C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_QKV_B, "attn.c_attn.bias", true, {TG_DIM_3C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_ATT_PROJ_W, "attn.c_proj.weight", true, {TG_DIM_C, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_ATT_PROJ_B, "attn.c_proj.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_LN2_W, "ln_2.weight", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_ONE},
    {TG_LN2_B, "ln_2.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_FC_W, "mlp.c_fc.weight", true, {TG_DIM_C, TG_DIM_4C}, TG_ALWAYS, TG_START_NORMAL},
    {TG_FC_B, "mlp.c_fc.bias", true, {TG_DIM_4C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_FC_PROJ_W, "mlp.c_proj.weight", true, {TG_DIM_4C, TG_DIM_C}, TG_ALWAYS, TG_START_RESIDUAL},
    {TG_FC_PROJ_B, "mlp.c_proj.bias", true, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LINEAR_BIAS, TG_START_ZERO},
    {TG_LNF_W, "ln_f.weight", false, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_WEIGHT, TG_START_ONE},
    {TG_LNF_B, "ln_f.bias", false, {TG_DIM_C, TG_DIM_NONE}, TG_IF_LN_BIAS, TG_START_ZERO},
    {TG_HEAD_W, "lm_head.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL},
    {TG_HEAD_B, "lm_head.bias", false, {TG_DIM_VOCAB, TG_DIM_NONE}, TG_IF_HEAD_BIAS, TG_START_ZERO},
};

/* kind, name, width, between products, can be computed again, in common, overwrites */
const tg_act_row tg_gpt2_acts[TG_GPT2_ACTS] = {
    {TG_ACT_X, "x", TG_DIM_C, false, false, TG_COMMON_ONE, TG_ACT_X},
    {TG_ACT_LN1_MEAN, "ln_1.mean", TG_DIM_NONE, false, false, TG_COMMON_ONE, TG_ACT_LN1_MEAN},
    {TG_ACT_LN1_RSTD, "ln_1.rstd", TG_DIM_NONE, false, false, TG_COMMON_ONE, TG_ACT_LN1_RSTD},
    {TG_ACT_QKV, "qkv", TG_DIM_3C, true, false, TG_COMMON_ONE, TG_ACT_QKV},
    {TG_ACT_ATT, "att", TG_DIM_C, true, false, TG_COMMON_ONE, TG_ACT_ATT},
    {TG_ACT_LSE, "lse", TG_DIM_HEADS, false, false, TG_COMMON_ONE, TG_ACT_LSE},
    {TG_ACT_X2, "x2", TG_DIM_C, false, true, TG_COMMON_ONE, TG_ACT_X},
    {TG_ACT_LN2_MEAN, "ln_2.mean", TG_DIM_NONE, false, false, TG_COMMON_ONE, TG_ACT_LN1_MEAN},
    {TG_ACT_LN2_RSTD, "ln_2.rstd", TG_DIM_NONE, false, false, TG_COMMON_ONE, TG_ACT_LN1_RSTD},
    {TG_ACT_FC, "fc", TG_DIM_4C, true, false, TG_COMMON_WIDE, TG_ACT_FC},
    {TG_ACT_GELU, "gelu", TG_DIM_4C, true, true, TG_COMMON_WIDE, TG_ACT_FC},
};

const tg_family tg_gpt2 = {
    .name = "gpt2",
    .block = "h",
    .row = rows,
    .n_rows = sizeof rows / sizeof rows[0],
    .act = tg_gpt2_acts,
    .n_acts = TG_GPT2_ACTS,
    .steps = &tg_gpt2_steps,
};
