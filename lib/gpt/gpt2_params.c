/* GPT-2's parameters, in the order of the file.  Names and layouts are Hugging Face's. */
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

const tg_family tg_gpt2 = {
    .name = "gpt2",
    .block = "h",
    .row = rows,
    .n_rows = sizeof rows / sizeof rows[0],
    .steps = &tg_gpt2_steps,
};
