/* The parameters of Gemma 2 and 3 and of OLMo 2, in the order of a file, and their activations.  Names and
 * layouts of parameters are Hugging Face's: matrices are [out,in]. */
#include "lib/gpt/family.h"
#include "lib/gpt/gemma.h"

#define VECTOR(dim)                                                                                          \
    {                                                                                                        \
        dim, TG_DIM_NONE                                                                                     \
    }
/* clang-format off */
#define NORM(kind, name, dim, when) {kind, TG_USE_NORM, name, true, VECTOR(dim), when, TG_START_GAIN}
#define MATRIX(kind, name, out, in) {kind, TG_USE_MATRIX, name, true, {out, in}, TG_ALWAYS, TG_START_NORMAL}
#define EMBEDDING {TG_WTE, TG_USE_TABLE, "model.embed_tokens.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL}
#define ATTENTION(q_norm, k_norm, when) \
    MATRIX(TG_Q_W, "self_attn.q_proj.weight", TG_DIM_Q, TG_DIM_C), \
    MATRIX(TG_K_W, "self_attn.k_proj.weight", TG_DIM_KV, TG_DIM_C), \
    MATRIX(TG_V_W, "self_attn.v_proj.weight", TG_DIM_KV, TG_DIM_C), \
    NORM(TG_Q_NORM_W, "self_attn.q_norm.weight", q_norm, when), \
    NORM(TG_K_NORM_W, "self_attn.k_norm.weight", k_norm, when), \
    MATRIX(TG_ATT_PROJ_W, "self_attn.o_proj.weight", TG_DIM_C, TG_DIM_Q), \
    NORM(TG_OUT_NORM_W, "post_attention_layernorm.weight", TG_DIM_C, TG_ALWAYS)
#define MLP \
    MATRIX(TG_GATE_W, "mlp.gate_proj.weight", TG_DIM_INNER, TG_DIM_C), \
    MATRIX(TG_UP_W, "mlp.up_proj.weight", TG_DIM_INNER, TG_DIM_C), \
    MATRIX(TG_FC_PROJ_W, "mlp.down_proj.weight", TG_DIM_C, TG_DIM_INNER), \
    NORM(TG_DOWN_NORM_W, "post_feedforward_layernorm.weight", TG_DIM_C, TG_ALWAYS)
#define LAST \
    {TG_LNF_W, TG_USE_NORM, "model.norm.weight", false, VECTOR(TG_DIM_C), TG_ALWAYS, TG_START_GAIN}, \
    {TG_HEAD_W, TG_USE_MATRIX, "lm_head.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL}

static const tg_param_row gemma[] = {
    EMBEDDING,
    NORM(TG_LN1_W, "input_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    ATTENTION(TG_DIM_D, TG_DIM_D, TG_IF_QK_NORM),
    NORM(TG_LN2_W, "pre_feedforward_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    MLP,
    LAST,
};

static const tg_param_row olmo2[] = {
    EMBEDDING,
    ATTENTION(TG_DIM_Q, TG_DIM_KV, TG_IF_QK_NORM),
    MLP,
    LAST,
};

/* In the order of a block's operations.  What is kept is what backward reads (lib/gpt/gemma.c).  A norm of all heads at
 * once has one element for each token where these tables have one for each head. */
static const tg_act_row acts[TG_GEMMA_ACTS] = {
    [TG_GEMMA_X] = {"x", TG_DIM_C, .gradient = TG_SCRATCH_DX},
    [TG_GEMMA_NORM_1] = {"norm_1", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED,
                         .gradient = TG_SCRATCH_DNORMED},
    [TG_GEMMA_NORM_1_RSTD] = {"norm_1.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_GEMMA_Q] = {"q", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_BETWEEN_1},
    [TG_GEMMA_K] = {"k", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_BETWEEN_2},
    [TG_GEMMA_V] = {"v", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_WIDE},
    [TG_GEMMA_Q_NORMED] = {"q.normed", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .over = TG_GEMMA_Q,
                           .when = TG_IF_QK_NORM, .gradient = TG_SCRATCH_BETWEEN_3},
    [TG_GEMMA_Q_NORMED_RSTD] = {"q.normed.rstd", TG_DIM_HEADS, .when = TG_IF_QK_NORM},
    [TG_GEMMA_K_NORMED] = {"k.normed", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .over = TG_GEMMA_K,
                           .when = TG_IF_QK_NORM, .gradient = TG_SCRATCH_BETWEEN_4},
    [TG_GEMMA_K_NORMED_RSTD] = {"k.normed.rstd", TG_DIM_KV_HEADS, .when = TG_IF_QK_NORM},
    [TG_GEMMA_Q_ROTATED] = {"q.rotated", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .over = TG_GEMMA_Q_NORMED,
                            .in_place = true},
    [TG_GEMMA_K_ROTATED] = {"k.rotated", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS,
                            .over = TG_GEMMA_K_NORMED, .in_place = true},
    [TG_GEMMA_ATT] = {"att", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_DATT,
                      .drop_site = 1},
    [TG_GEMMA_LSE] = {"lse", TG_DIM_HEADS, .keep = TG_KEEP_ALWAYS},
    [TG_GEMMA_OUT] = {"out", TG_DIM_C, .between = true, .gradient = TG_SCRATCH_NORMED},
    [TG_GEMMA_OUT_NORMED] = {"out.normed", TG_DIM_C, TG_KEEP_NEVER, .shared = TG_SCRATCH_FULL_1,
                             .gradient = TG_SCRATCH_FULL_1},
    [TG_GEMMA_OUT_NORMED_RSTD] = {"out.normed.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_GEMMA_X2] = {"x2", TG_DIM_C, .gradient = TG_SCRATCH_DX, .over = TG_GEMMA_X, .drop_site = 2},
    [TG_GEMMA_NORM_2] = {"norm_2", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED,
                         .gradient = TG_SCRATCH_DNORMED},
    [TG_GEMMA_NORM_2_RSTD] = {"norm_2.rstd", TG_DIM_NONE, .over = TG_GEMMA_NORM_1_RSTD},
    [TG_GEMMA_GATE] = {"gate", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_WIDE,
                       .gradient = TG_SCRATCH_BETWEEN_1},
    [TG_GEMMA_UP] = {"up", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_BETWEEN_1,
                     .gradient = TG_SCRATCH_BETWEEN_2},
    [TG_GEMMA_GATED] = {"gated", TG_DIM_INNER, TG_KEEP_IF_SMALL, .between = true, .shared = TG_SCRATCH_WIDE,
                        .gradient = TG_SCRATCH_WIDE, .over = TG_GEMMA_GATE},
    [TG_GEMMA_DOWN] = {"down", TG_DIM_C, .between = true, .gradient = TG_SCRATCH_NORMED},
    [TG_GEMMA_DOWN_NORMED] = {"down.normed", TG_DIM_C, TG_KEEP_NEVER, .shared = TG_SCRATCH_FULL_1,
                              .gradient = TG_SCRATCH_FULL_1},
    [TG_GEMMA_DOWN_NORMED_RSTD] = {"down.normed.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_GEMMA_NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true, .drop_site = 3},
};
/* clang-format on */

#define BIT(member) TG_CONFIG_BIT(TG_CONFIG_##member)
#define SETTINGS                                                                                             \
    (BIT(N_LAYER) | BIT(N_HEAD) | BIT(N_EMBD) | BIT(N_CTX) | BIT(VOCAB_SIZE) | BIT(LAYER_NORM_EPSILON) |     \
     BIT(ACTIVATION) | BIT(TIED) | BIT(N_KV_HEAD) | BIT(HEAD_DIM) | BIT(N_INNER) | BIT(ROPE_THETA) |         \
     BIT(QK_NORM) | BIT(ROPE_SCALING) | BIT(ROPE_FACTOR) | BIT(ROPE_LOW_FREQ) | BIT(ROPE_HIGH_FREQ) |        \
     BIT(ROPE_CTX) | BIT(ROPE_LOCAL_THETA) | BIT(WINDOW) | BIT(WINDOW_LAYERS) | BIT(ATTN_SCALE) |            \
     BIT(ATTN_CAP) | BIT(NORM_OFFSET) | BIT(EMBED_SCALE))

/* Families that differ by their parameters and configs. */
#define FAMILY(of_name, rows)                                                                                \
    {                                                                                                        \
        .name = (of_name), .block = "model.layers", .transposed = true, .settings = SETTINGS, .row = (rows), \
        .n_rows = sizeof(rows) / sizeof(rows)[0], .act = acts, .n_acts = TG_GEMMA_ACTS,                      \
        .norm = TG_GEMMA_NORM_1, .q = TG_GEMMA_Q_ROTATED, .k = TG_GEMMA_K_ROTATED, .v = TG_GEMMA_V,          \
        .att = TG_GEMMA_ATT                                                                                  \
    }

const tg_family tg_gemma2 = FAMILY("gemma2", gemma);
const tg_family tg_gemma3 = FAMILY("gemma3", gemma);
const tg_family tg_olmo2 = FAMILY("olmo2", olmo2);
