/* The parameters of Llama and its relatives, in the order of a file, and their activations.  Names and
 * layouts of parameters are Hugging Face's: matrices are [out,in]. */
#include "lib/gpt/family.h"
#include "lib/gpt/llama.h"

#define VECTOR(dim)                                                                                          \
    {                                                                                                        \
        dim, TG_DIM_NONE                                                                                     \
    }
/* clang-format off */
#define NORM(kind, name) {kind, TG_USE_NORM, name, true, VECTOR(TG_DIM_C), TG_ALWAYS, TG_START_GAIN}
#define HEAD_NORM(kind, name) {kind, TG_USE_NORM, name, true, VECTOR(TG_DIM_D), TG_IF_QK_NORM, TG_START_GAIN}
#define MATRIX(kind, name, out, in) {kind, TG_USE_MATRIX, name, true, {out, in}, TG_ALWAYS, TG_START_NORMAL}
#define BIAS(kind, name, out, when) {kind, TG_USE_BIAS, name, true, VECTOR(out), when, TG_START_ZERO}

static const tg_param_row rows[] = {
    {TG_WTE, TG_USE_TABLE, "model.embed_tokens.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL},
    NORM(TG_LN1_W, "input_layernorm.weight"),
    MATRIX(TG_Q_W, "self_attn.q_proj.weight", TG_DIM_Q, TG_DIM_C),
    BIAS(TG_Q_B, "self_attn.q_proj.bias", TG_DIM_Q, TG_IF_QKV_BIAS),
    MATRIX(TG_K_W, "self_attn.k_proj.weight", TG_DIM_KV, TG_DIM_C),
    BIAS(TG_K_B, "self_attn.k_proj.bias", TG_DIM_KV, TG_IF_QKV_BIAS),
    MATRIX(TG_V_W, "self_attn.v_proj.weight", TG_DIM_KV, TG_DIM_C),
    BIAS(TG_V_B, "self_attn.v_proj.bias", TG_DIM_KV, TG_IF_QKV_BIAS),
    HEAD_NORM(TG_Q_NORM_W, "self_attn.q_norm.weight"),
    HEAD_NORM(TG_K_NORM_W, "self_attn.k_norm.weight"),
    MATRIX(TG_ATT_PROJ_W, "self_attn.o_proj.weight", TG_DIM_C, TG_DIM_Q),
    BIAS(TG_ATT_PROJ_B, "self_attn.o_proj.bias", TG_DIM_C, TG_IF_OUT_BIAS),
    NORM(TG_LN2_W, "post_attention_layernorm.weight"),
    MATRIX(TG_GATE_W, "mlp.gate_proj.weight", TG_DIM_INNER, TG_DIM_C),
    BIAS(TG_GATE_B, "mlp.gate_proj.bias", TG_DIM_INNER, TG_IF_MLP_BIAS),
    MATRIX(TG_UP_W, "mlp.up_proj.weight", TG_DIM_INNER, TG_DIM_C),
    BIAS(TG_UP_B, "mlp.up_proj.bias", TG_DIM_INNER, TG_IF_MLP_BIAS),
    MATRIX(TG_FC_PROJ_W, "mlp.down_proj.weight", TG_DIM_C, TG_DIM_INNER),
    BIAS(TG_FC_PROJ_B, "mlp.down_proj.bias", TG_DIM_C, TG_IF_MLP_BIAS),
    {TG_LNF_W, TG_USE_NORM, "model.norm.weight", false, VECTOR(TG_DIM_C), TG_ALWAYS, TG_START_GAIN},
    {TG_HEAD_W, TG_USE_MATRIX, "lm_head.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL},
};

/* In the order of a block's operations.  What is kept is what backward reads (lib/gpt/llama.c). */
static const tg_act_row acts[TG_LLAMA_ACTS] = {
    [TG_LLAMA_X] = {"x", TG_DIM_C, .gradient = TG_SCRATCH_DX},
    [TG_LLAMA_NORM_1] = {"norm_1", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED,
                         .gradient = TG_SCRATCH_DNORMED},
    [TG_LLAMA_NORM_1_RSTD] = {"norm_1.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_LLAMA_Q] = {"q", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_BETWEEN_1},
    [TG_LLAMA_K] = {"k", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_BETWEEN_2},
    [TG_LLAMA_V] = {"v", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_WIDE},
    [TG_LLAMA_Q_NORMED] = {"q.normed", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .over = TG_LLAMA_Q,
                           .when = TG_IF_QK_NORM, .gradient = TG_SCRATCH_BETWEEN_3},
    [TG_LLAMA_Q_NORMED_RSTD] = {"q.normed.rstd", TG_DIM_HEADS, .when = TG_IF_QK_NORM},
    [TG_LLAMA_K_NORMED] = {"k.normed", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .over = TG_LLAMA_K,
                           .when = TG_IF_QK_NORM, .gradient = TG_SCRATCH_BETWEEN_4},
    [TG_LLAMA_K_NORMED_RSTD] = {"k.normed.rstd", TG_DIM_KV_HEADS, .when = TG_IF_QK_NORM},
    [TG_LLAMA_Q_ROTATED] = {"q.rotated", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .over = TG_LLAMA_Q_NORMED,
                            .in_place = true},
    [TG_LLAMA_K_ROTATED] = {"k.rotated", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS,
                            .over = TG_LLAMA_K_NORMED, .in_place = true},
    [TG_LLAMA_ATT] = {"att", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_DATT,
                      .drop_site = 1},
    [TG_LLAMA_LSE] = {"lse", TG_DIM_HEADS, .keep = TG_KEEP_ALWAYS},
    [TG_LLAMA_X2] = {"x2", TG_DIM_C, TG_KEEP_IF_SMALL, .gradient = TG_SCRATCH_DX, .over = TG_LLAMA_X, .drop_site = 2},
    [TG_LLAMA_NORM_2] = {"norm_2", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED,
                         .gradient = TG_SCRATCH_DNORMED},
    [TG_LLAMA_NORM_2_RSTD] = {"norm_2.rstd", TG_DIM_NONE, .over = TG_LLAMA_NORM_1_RSTD},
    [TG_LLAMA_GATE] = {"gate", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_WIDE,
                       .gradient = TG_SCRATCH_BETWEEN_1},
    [TG_LLAMA_UP] = {"up", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_BETWEEN_1,
                     .gradient = TG_SCRATCH_BETWEEN_2},
    [TG_LLAMA_GATED] = {"gated", TG_DIM_INNER, TG_KEEP_IF_SMALL, .between = true, .shared = TG_SCRATCH_WIDE,
                        .gradient = TG_SCRATCH_WIDE, .over = TG_LLAMA_GATE},
    [TG_LLAMA_NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true, .drop_site = 3},
};
/* clang-format on */

#define BIT(member) TG_CONFIG_BIT(TG_CONFIG_##member)
#define SETTINGS                                                                                             \
    (BIT(N_LAYER) | BIT(N_HEAD) | BIT(N_EMBD) | BIT(N_CTX) | BIT(VOCAB_SIZE) | BIT(LAYER_NORM_EPSILON) |     \
     BIT(ACTIVATION) | BIT(TIED) | BIT(N_KV_HEAD) | BIT(HEAD_DIM) | BIT(N_INNER) | BIT(ROPE_THETA) |         \
     BIT(QKV_BIAS) | BIT(OUT_BIAS) | BIT(MLP_BIAS) | BIT(QK_NORM) | BIT(ROPE_SCALING) | BIT(ROPE_FACTOR) |   \
     BIT(ROPE_LOW_FREQ) | BIT(ROPE_HIGH_FREQ) | BIT(ROPE_CTX) | BIT(ROPE_DIM) | BIT(ROPE_LOCAL_THETA) |      \
     BIT(UNROTATED_LAYERS) | BIT(WINDOW) | BIT(WINDOW_LAYERS) | BIT(ATTN_SCALE) | BIT(ATTN_CAP) |            \
     BIT(NORM_OFFSET) | BIT(EMBED_SCALE))

/* Families that differ by their configs. */
#define FAMILY(of_name)                                                                                      \
    {                                                                                                        \
        .name = (of_name), .block = "model.layers", .transposed = true, .settings = SETTINGS, .row = rows,   \
        .n_rows = sizeof rows / sizeof rows[0], .act = acts, .n_acts = TG_LLAMA_ACTS,                        \
        .norm = TG_LLAMA_NORM_1, .q = TG_LLAMA_Q_ROTATED, .k = TG_LLAMA_K_ROTATED, .v = TG_LLAMA_V,          \
        .att = TG_LLAMA_ATT                                                                                  \
    }

const tg_family tg_llama = FAMILY("llama");
const tg_family tg_qwen2 = FAMILY("qwen2");
const tg_family tg_qwen3 = FAMILY("qwen3");
const tg_family tg_gemma = FAMILY("gemma");
