/* GPT-NeoX's parameters and activations.  Names are Hugging Face's, except that queries, keys and values have
 * a matrix each, where Hugging Face's files have them in one, head by head; matrices are [out,in]. */
#include "lib/gpt/family.h"
#include "lib/gpt/neox.h"

/* clang-format off */
#define NORM(kind, name) \
    {kind, TG_USE_NORM, name ".weight", true, {TG_DIM_C}, TG_ALWAYS, TG_START_GAIN}, \
    {(kind) + 1, TG_USE_NORM, name ".bias", true, {TG_DIM_C}, TG_ALWAYS, TG_START_ZERO}
#define LINEAR(kind, name, out, in, when) \
    {kind, TG_USE_MATRIX, name ".weight", true, {out, in}, TG_ALWAYS, TG_START_NORMAL}, \
    {(kind) + 1, TG_USE_BIAS, name ".bias", true, {out}, when, TG_START_ZERO}

static const tg_param_row rows[] = {
    {TG_WTE, TG_USE_TABLE, "gpt_neox.embed_in.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    NORM(TG_LN1_W, "input_layernorm"),
    LINEAR(TG_Q_W, "attention.query", TG_DIM_Q, TG_DIM_C, TG_IF_QKV_BIAS),
    LINEAR(TG_K_W, "attention.key", TG_DIM_KV, TG_DIM_C, TG_IF_QKV_BIAS),
    LINEAR(TG_V_W, "attention.value", TG_DIM_KV, TG_DIM_C, TG_IF_QKV_BIAS),
    LINEAR(TG_ATT_PROJ_W, "attention.dense", TG_DIM_C, TG_DIM_Q, TG_IF_OUT_BIAS),
    NORM(TG_LN2_W, "post_attention_layernorm"),
    LINEAR(TG_FC_W, "mlp.dense_h_to_4h", TG_DIM_INNER, TG_DIM_C, TG_ALWAYS),
    LINEAR(TG_FC_PROJ_W, "mlp.dense_4h_to_h", TG_DIM_C, TG_DIM_INNER, TG_ALWAYS),
    {TG_LNF_W, TG_USE_NORM, "gpt_neox.final_layer_norm.weight", false, {TG_DIM_C}, TG_ALWAYS, TG_START_GAIN},
    {TG_LNF_B, TG_USE_NORM, "gpt_neox.final_layer_norm.bias", false, {TG_DIM_C}, TG_ALWAYS, TG_START_ZERO},
    {TG_HEAD_W, TG_USE_MATRIX, "embed_out.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL},
};

/* In the order of a block's operations.  What is kept is what backward reads (lib/gpt/neox.c). */
static const tg_act_row acts[TG_NEOX_ACTS] = {
    [TG_NEOX_X] = {"x", TG_DIM_C, .gradient = TG_SCRATCH_DX},
    [TG_NEOX_LN_1] = {"ln_1", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED,
                      .gradient = TG_SCRATCH_FULL_1},
    [TG_NEOX_LN_1_MEAN] = {"ln_1.mean", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_NEOX_LN_1_RSTD] = {"ln_1.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_NEOX_Q] = {"q", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_BETWEEN_1},
    [TG_NEOX_K] = {"k", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_BETWEEN_2},
    [TG_NEOX_V] = {"v", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_BETWEEN_3},
    [TG_NEOX_Q_ROTATED] = {"q.rotated", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .over = TG_NEOX_Q,
                           .in_place = true},
    [TG_NEOX_K_ROTATED] = {"k.rotated", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .over = TG_NEOX_K,
                           .in_place = true},
    [TG_NEOX_ATT] = {"att", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_DATT,
                     .drop_site = 1},
    [TG_NEOX_LSE] = {"lse", TG_DIM_HEADS, .keep = TG_KEEP_ALWAYS},
    [TG_NEOX_X2] = {"x2", TG_DIM_C, TG_KEEP_NEVER, .gradient = TG_SCRATCH_DX, .drop_site = 2},
    [TG_NEOX_LN_2] = {"ln_2", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED,
                      .gradient = TG_SCRATCH_FULL_1},
    [TG_NEOX_LN_2_MEAN] = {"ln_2.mean", TG_DIM_NONE, .over = TG_NEOX_LN_1_MEAN},
    [TG_NEOX_LN_2_RSTD] = {"ln_2.rstd", TG_DIM_NONE, .over = TG_NEOX_LN_1_RSTD},
    [TG_NEOX_FC] = {"fc", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_WIDE, .gradient = TG_SCRATCH_WIDE},
    [TG_NEOX_GELU] = {"gelu", TG_DIM_INNER, TG_KEEP_IF_SMALL, .between = true, .shared = TG_SCRATCH_WIDE,
                      .gradient = TG_SCRATCH_WIDE, .over = TG_NEOX_FC},
    [TG_NEOX_NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true, .drop_site = 3},
};
/* clang-format on */

#define BIT(member) TG_CONFIG_BIT(TG_CONFIG_##member)

const tg_family tg_neox = {
    .name = "gpt_neox",
    .block = "gpt_neox.layers",
    .transposed = true,
    .layernorm = true,
    .settings = BIT(N_LAYER) | BIT(N_HEAD) | BIT(N_EMBD) | BIT(N_CTX) | BIT(VOCAB_SIZE) |
                BIT(LAYER_NORM_EPSILON) | BIT(ACTIVATION) | BIT(TIED) | BIT(N_INNER) | BIT(ROPE_THETA) |
                BIT(QKV_BIAS) | BIT(OUT_BIAS) | BIT(ROPE_SCALING) | BIT(ROPE_FACTOR) | BIT(ROPE_LOW_FREQ) |
                BIT(ROPE_HIGH_FREQ) | BIT(ROPE_CTX) | BIT(ROPE_DIM),
    .row = rows,
    .n_rows = sizeof rows / sizeof rows[0],
    .act = acts,
    .n_acts = TG_NEOX_ACTS,
    .norm = TG_NEOX_LN_1,
    .q = TG_NEOX_Q_ROTATED,
    .k = TG_NEOX_K_ROTATED,
    .v = TG_NEOX_V,
    .att = TG_NEOX_ATT,
    .mlp = TG_NEOX_LN_2,
    .mlp_in = TG_NEOX_X,
    .units = TG_NEOX_GELU,
    .q_projected = TG_NEOX_Q,
    .k_projected = TG_NEOX_K,
};
