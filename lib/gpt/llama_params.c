/* The parameters of Llama and its relatives, Gemma 2 and 3, OLMo 2, StableLM and nanochat among them, in the
 * order of a file, and their activations.  Names and layouts of parameters are Hugging Face's: matrices are
 * [out,in]. */
#include "lib/gpt/family.h"
#include "lib/gpt/gemma.h"
#include "lib/gpt/llama.h"
#include "lib/gpt/nanochat.h"
#include "lib/gpt/stablelm.h"

/* clang-format off */
#define NORM(kind, name, dim, when) {kind, TG_USE_NORM, name, true, {dim}, when, TG_START_GAIN}
#define LINEAR(kind, name, out, in, bias) \
    {kind, TG_USE_MATRIX, name ".weight", true, {out, in}, TG_ALWAYS, TG_START_NORMAL}, \
    {(kind) + 1, TG_USE_BIAS, name ".bias", true, {out}, bias, TG_START_ZERO}

#define FIRST \
    {TG_WTE, TG_USE_TABLE, "model.embed_tokens.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_ALWAYS, TG_START_NORMAL}
#define QKV \
    LINEAR(TG_Q_W, "self_attn.q_proj", TG_DIM_Q, TG_DIM_C, TG_IF_QKV_BIAS), \
    LINEAR(TG_K_W, "self_attn.k_proj", TG_DIM_KV, TG_DIM_C, TG_IF_QKV_BIAS), \
    LINEAR(TG_V_W, "self_attn.v_proj", TG_DIM_KV, TG_DIM_C, TG_IF_QKV_BIAS)
#define ATTENTION(q_norm, k_norm) \
    QKV, \
    NORM(TG_Q_NORM_W, "self_attn.q_norm.weight", q_norm, TG_IF_QK_NORM), \
    NORM(TG_K_NORM_W, "self_attn.k_norm.weight", k_norm, TG_IF_QK_NORM), \
    LINEAR(TG_ATT_PROJ_W, "self_attn.o_proj", TG_DIM_C, TG_DIM_Q, TG_IF_OUT_BIAS)
#define MLP \
    LINEAR(TG_GATE_W, "mlp.gate_proj", TG_DIM_INNER, TG_DIM_C, TG_IF_MLP_BIAS), \
    LINEAR(TG_UP_W, "mlp.up_proj", TG_DIM_INNER, TG_DIM_C, TG_IF_MLP_BIAS), \
    LINEAR(TG_FC_PROJ_W, "mlp.down_proj", TG_DIM_C, TG_DIM_INNER, TG_IF_MLP_BIAS)
#define LAST_NORM {TG_LNF_W, TG_USE_NORM, "model.norm.weight", false, {TG_DIM_C}, TG_ALWAYS, TG_START_GAIN}
#define LAST LAST_NORM, HEAD
#define HEAD \
    {TG_HEAD_W, TG_USE_MATRIX, "lm_head.weight", false, {TG_DIM_VOCAB, TG_DIM_C}, TG_IF_UNTIED, TG_START_NORMAL}

static const tg_param_row llama[] = {
    FIRST,
    NORM(TG_LN1_W, "input_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    ATTENTION(TG_DIM_D, TG_DIM_D),
    NORM(TG_LN2_W, "post_attention_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    MLP,
    LAST,
};

static const tg_param_row gemma2[] = {
    FIRST,
    NORM(TG_LN1_W, "input_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    ATTENTION(TG_DIM_D, TG_DIM_D),
    NORM(TG_OUT_NORM_W, "post_attention_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    NORM(TG_LN2_W, "pre_feedforward_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    MLP,
    NORM(TG_DOWN_NORM_W, "post_feedforward_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    LAST,
};

static const tg_param_row olmo2[] = {
    FIRST,
    ATTENTION(TG_DIM_Q, TG_DIM_KV),
    NORM(TG_OUT_NORM_W, "post_attention_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    MLP,
    NORM(TG_DOWN_NORM_W, "post_feedforward_layernorm.weight", TG_DIM_C, TG_ALWAYS),
    LAST,
};

#define LAYERNORM(kind, name) \
    NORM(kind, name ".weight", TG_DIM_C, TG_ALWAYS), \
    {(kind) + 1, TG_USE_NORM, name ".bias", true, {TG_DIM_C}, TG_ALWAYS, TG_START_ZERO}
static const tg_param_row stablelm[] = {
    FIRST,
    LAYERNORM(TG_LN1_W, "input_layernorm"),
    QKV,
    LINEAR(TG_ATT_PROJ_W, "self_attn.o_proj", TG_DIM_C, TG_DIM_Q, TG_IF_OUT_BIAS),
    LAYERNORM(TG_LN2_W, "post_attention_layernorm"),
    MLP,
    LAST_NORM,
    {TG_LNF_B, TG_USE_NORM, "model.norm.bias", false, {TG_DIM_C}, TG_ALWAYS, TG_START_ZERO},
    HEAD,
};

static const tg_param_row nanochat[] = {
    FIRST,
    QKV,
    LINEAR(TG_ATT_PROJ_W, "self_attn.o_proj", TG_DIM_C, TG_DIM_Q, TG_IF_OUT_BIAS),
    LINEAR(TG_FC_W, "mlp.fc1", TG_DIM_INNER, TG_DIM_C, TG_IF_MLP_BIAS),
    LINEAR(TG_FC_PROJ_W, "mlp.fc2", TG_DIM_C, TG_DIM_INNER, TG_IF_MLP_BIAS),
    HEAD,
};

/* ---- activations, in the order of a block's operations; what is kept is what backward reads */

/* The rows up to attention's.  A norm of all heads at once (OLMo 2) has one element for each token where this
 * has one for each head. */
#define ATTENTION_ACTS \
    [TG_LLAMA_X] = {"x", TG_DIM_C, .gradient = TG_SCRATCH_DX}, \
    [TG_LLAMA_NORM_1] = {"norm_1", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED, \
                         .gradient = TG_SCRATCH_DNORMED}, \
    [TG_LLAMA_NORM_1_RSTD] = {"norm_1.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS}, \
    [TG_LLAMA_Q] = {"q", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_BETWEEN_1}, \
    [TG_LLAMA_K] = {"k", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_BETWEEN_2}, \
    [TG_LLAMA_V] = {"v", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_WIDE}, \
    [TG_LLAMA_Q_NORMED] = {"q.normed", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .over = TG_LLAMA_Q, \
                           .when = TG_IF_QK_NORM, .gradient = TG_SCRATCH_BETWEEN_3}, \
    [TG_LLAMA_Q_NORMED_RSTD] = {"q.normed.rstd", TG_DIM_HEADS, .when = TG_IF_QK_NORM}, \
    [TG_LLAMA_K_NORMED] = {"k.normed", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .over = TG_LLAMA_K, \
                           .when = TG_IF_QK_NORM, .gradient = TG_SCRATCH_BETWEEN_4}, \
    [TG_LLAMA_K_NORMED_RSTD] = {"k.normed.rstd", TG_DIM_KV_HEADS, .when = TG_IF_QK_NORM}, \
    [TG_LLAMA_Q_ROTATED] = {"q.rotated", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, \
                            .over = TG_LLAMA_Q_NORMED, .in_place = true}, \
    [TG_LLAMA_K_ROTATED] = {"k.rotated", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, \
                            .over = TG_LLAMA_K_NORMED, .in_place = true}, \
    [TG_LLAMA_ATT] = {"att", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_DATT, \
                      .drop_site = 1}, \
    [TG_LLAMA_LSE] = {"lse", TG_DIM_HEADS, .keep = TG_KEEP_ALWAYS}

#define NORM_2_ACTS(norm, rstd) \
    [norm] = {"norm_2", TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED, \
              .gradient = TG_SCRATCH_DNORMED}, \
    [rstd] = {"norm_2.rstd", TG_DIM_NONE, .over = TG_LLAMA_NORM_1_RSTD}

#define GATED_ACTS(gate, up, gated) \
    [gate] = {"gate", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_WIDE, .gradient = TG_SCRATCH_BETWEEN_1}, \
    [up] = {"up", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_BETWEEN_1, .gradient = TG_SCRATCH_BETWEEN_2}, \
    [gated] = {"gated", TG_DIM_INNER, TG_KEEP_IF_SMALL, .between = true, .shared = TG_SCRATCH_WIDE, \
               .gradient = TG_SCRATCH_WIDE, .over = (gate)}

static const tg_act_row llama_acts[TG_LLAMA_ACTS] = {
    ATTENTION_ACTS,
    [TG_LLAMA_X2] = {"x2", TG_DIM_C, TG_KEEP_IF_SMALL, .gradient = TG_SCRATCH_DX, .over = TG_LLAMA_X, .drop_site = 2},
    NORM_2_ACTS(TG_LLAMA_NORM_2, TG_LLAMA_NORM_2_RSTD),
    GATED_ACTS(TG_LLAMA_GATE, TG_LLAMA_UP, TG_LLAMA_GATED),
    [TG_LLAMA_NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true, .drop_site = 3},
};

static const tg_act_row gemma_acts[TG_GEMMA_ACTS] = {
    ATTENTION_ACTS,
    [TG_GEMMA_OUT] = {"out", TG_DIM_C, .between = true, .gradient = TG_SCRATCH_NORMED},
    [TG_GEMMA_OUT_NORMED] = {"out.normed", TG_DIM_C, TG_KEEP_NEVER, .shared = TG_SCRATCH_FULL_1,
                             .gradient = TG_SCRATCH_FULL_1},
    [TG_GEMMA_OUT_NORMED_RSTD] = {"out.normed.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_GEMMA_X2] = {"x2", TG_DIM_C, .gradient = TG_SCRATCH_DX, .over = TG_LLAMA_X, .drop_site = 2},
    NORM_2_ACTS(TG_GEMMA_NORM_2, TG_GEMMA_NORM_2_RSTD),
    GATED_ACTS(TG_GEMMA_GATE, TG_GEMMA_UP, TG_GEMMA_GATED),
    [TG_GEMMA_DOWN] = {"down", TG_DIM_C, .between = true, .gradient = TG_SCRATCH_NORMED},
    [TG_GEMMA_DOWN_NORMED] = {"down.normed", TG_DIM_C, TG_KEEP_NEVER, .shared = TG_SCRATCH_FULL_1,
                              .gradient = TG_SCRATCH_FULL_1},
    [TG_GEMMA_DOWN_NORMED_RSTD] = {"down.normed.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_GEMMA_NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true, .drop_site = 3},
};

#define LAYERNORM_ACTS(norm, name) \
    [norm] = {name, TG_DIM_C, TG_KEEP_NEVER, .between = true, .shared = TG_SCRATCH_NORMED, .gradient = TG_SCRATCH_DNORMED}
static const tg_act_row stablelm_acts[TG_STABLELM_ACTS] = {
    [TG_STABLELM_X] = {"x", TG_DIM_C, .gradient = TG_SCRATCH_DX},
    LAYERNORM_ACTS(TG_STABLELM_LN_1, "ln_1"),
    [TG_STABLELM_LN_1_MEAN] = {"ln_1.mean", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_STABLELM_LN_1_RSTD] = {"ln_1.rstd", TG_DIM_NONE, .keep = TG_KEEP_ALWAYS},
    [TG_STABLELM_Q] = {"q", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_BETWEEN_1},
    [TG_STABLELM_K] = {"k", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_BETWEEN_2},
    [TG_STABLELM_V] = {"v", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS, .gradient = TG_SCRATCH_WIDE},
    [TG_STABLELM_Q_ROTATED] = {"q.rotated", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .over = TG_STABLELM_Q,
                               .in_place = true},
    [TG_STABLELM_K_ROTATED] = {"k.rotated", TG_DIM_KV, .between = true, .heads = TG_DIM_KV_HEADS,
                               .over = TG_STABLELM_K, .in_place = true},
    [TG_STABLELM_ATT] = {"att", TG_DIM_Q, .between = true, .heads = TG_DIM_HEADS, .gradient = TG_SCRATCH_DATT,
                         .drop_site = 1},
    [TG_STABLELM_LSE] = {"lse", TG_DIM_HEADS, .keep = TG_KEEP_ALWAYS},
    [TG_STABLELM_X2] = {"x2", TG_DIM_C, TG_KEEP_IF_SMALL, .gradient = TG_SCRATCH_DX, .over = TG_STABLELM_X,
                        .drop_site = 2},
    LAYERNORM_ACTS(TG_STABLELM_LN_2, "ln_2"),
    [TG_STABLELM_LN_2_MEAN] = {"ln_2.mean", TG_DIM_NONE, .over = TG_STABLELM_LN_1_MEAN},
    [TG_STABLELM_LN_2_RSTD] = {"ln_2.rstd", TG_DIM_NONE, .over = TG_STABLELM_LN_1_RSTD},
    GATED_ACTS(TG_STABLELM_GATE, TG_STABLELM_UP, TG_STABLELM_GATED),
    [TG_STABLELM_NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true, .drop_site = 3},
};

static const tg_act_row nanochat_acts[TG_NANOCHAT_ACTS] = {
    ATTENTION_ACTS,
    [TG_NANOCHAT_X2] = {"x2", TG_DIM_C, TG_KEEP_IF_SMALL, .gradient = TG_SCRATCH_DX, .over = TG_LLAMA_X,
                        .drop_site = 2},
    NORM_2_ACTS(TG_NANOCHAT_NORM_2, TG_NANOCHAT_NORM_2_RSTD),
    [TG_NANOCHAT_FC] = {"fc", TG_DIM_INNER, .between = true, .shared = TG_SCRATCH_WIDE, .gradient = TG_SCRATCH_WIDE},
    [TG_NANOCHAT_ACT] = {"act", TG_DIM_INNER, TG_KEEP_IF_SMALL, .between = true, .shared = TG_SCRATCH_WIDE,
                         .gradient = TG_SCRATCH_WIDE, .over = TG_NANOCHAT_FC},
    [TG_NANOCHAT_NEXT] = {"next", TG_DIM_C, .gradient = TG_SCRATCH_DX, .next = true, .drop_site = 3},
};
/* clang-format on */

/* ---- families, which differ by their configs and tables */

#define BIT(member) TG_CONFIG_BIT(TG_CONFIG_##member)
#define SETTINGS                                                                                             \
    (BIT(N_LAYER) | BIT(N_HEAD) | BIT(N_EMBD) | BIT(N_CTX) | BIT(VOCAB_SIZE) | BIT(LAYER_NORM_EPSILON) |     \
     BIT(ACTIVATION) | BIT(TIED) | BIT(N_KV_HEAD) | BIT(HEAD_DIM) | BIT(N_INNER) | BIT(ROPE_THETA) |         \
     BIT(QK_NORM) | BIT(ROPE_SCALING) | BIT(ROPE_FACTOR) | BIT(ROPE_LOW_FREQ) | BIT(ROPE_HIGH_FREQ) |        \
     BIT(ROPE_CTX) | BIT(ROPE_LOCAL_THETA) | BIT(WINDOW) | BIT(WINDOW_LAYERS) | BIT(ATTN_SCALE) |            \
     BIT(ATTN_CAP) | BIT(NORM_OFFSET) | BIT(EMBED_SCALE))
#define LLAMA_SETTINGS                                                                                       \
    (SETTINGS | BIT(QKV_BIAS) | BIT(OUT_BIAS) | BIT(MLP_BIAS) | BIT(ROPE_DIM) | BIT(UNROTATED_LAYERS))

#define MEMBERS(of_name, which, rows, acts)                                                                  \
    .name = (of_name), .block = "model.layers", .transposed = true, .settings = (which), .row = (rows),      \
    .n_rows = sizeof(rows) / sizeof(rows)[0], .act = (acts), .n_acts = sizeof(acts) / sizeof(acts)[0]
#define LLAMA_ACTS                                                                                           \
    .norm = TG_LLAMA_NORM_1, .q = TG_LLAMA_Q_ROTATED, .k = TG_LLAMA_K_ROTATED, .v = TG_LLAMA_V,              \
    .att = TG_LLAMA_ATT, .q_projected = TG_LLAMA_Q, .k_projected = TG_LLAMA_K,                               \
    .q_normed = TG_LLAMA_Q_NORMED, .k_normed = TG_LLAMA_K_NORMED
#define GATED_MLP(PREFIX) .mlp = PREFIX##_NORM_2, .mlp_in = PREFIX##_X2, .units = PREFIX##_GATED
#define FAMILY(of_name, which, rows, acts, PREFIX)                                                           \
    {                                                                                                        \
        MEMBERS(of_name, which, rows, acts), LLAMA_ACTS, GATED_MLP(PREFIX)                                   \
    }

const tg_family tg_llama = FAMILY("llama", LLAMA_SETTINGS, llama, llama_acts, TG_LLAMA);
const tg_family tg_qwen2 = FAMILY("qwen2", LLAMA_SETTINGS, llama, llama_acts, TG_LLAMA);
const tg_family tg_qwen3 = FAMILY("qwen3", LLAMA_SETTINGS, llama, llama_acts, TG_LLAMA);
const tg_family tg_phi3 = FAMILY("phi3", LLAMA_SETTINGS, llama, llama_acts, TG_LLAMA);
const tg_family tg_gemma = FAMILY("gemma", LLAMA_SETTINGS, llama, llama_acts, TG_LLAMA);
const tg_family tg_gemma2 =
    FAMILY("gemma2", SETTINGS | BIT(FINAL_LOGIT_SOFTCAPPING), gemma2, gemma_acts, TG_GEMMA);
const tg_family tg_gemma3 = FAMILY("gemma3", SETTINGS, gemma2, gemma_acts, TG_GEMMA);
const tg_family tg_olmo2 = FAMILY("olmo2", SETTINGS, olmo2, gemma_acts, TG_GEMMA);

#define ROTATION                                                                                             \
    (BIT(ROPE_THETA) | BIT(ROPE_SCALING) | BIT(ROPE_FACTOR) | BIT(ROPE_LOW_FREQ) | BIT(ROPE_HIGH_FREQ) |     \
     BIT(ROPE_CTX))
#define FEWER_SETTINGS                                                                                       \
    (BIT(N_LAYER) | BIT(N_HEAD) | BIT(N_EMBD) | BIT(N_CTX) | BIT(VOCAB_SIZE) | BIT(LAYER_NORM_EPSILON) |     \
     BIT(ACTIVATION) | BIT(TIED) | BIT(N_KV_HEAD) | BIT(N_INNER) | BIT(QKV_BIAS) | ROTATION)

const tg_family tg_stablelm = {
    MEMBERS("stablelm", FEWER_SETTINGS | BIT(ROPE_DIM), stablelm, stablelm_acts),
    .layernorm = true,
    .norm = TG_STABLELM_LN_1,
    .q = TG_STABLELM_Q_ROTATED,
    .k = TG_STABLELM_K_ROTATED,
    .v = TG_STABLELM_V,
    .att = TG_STABLELM_ATT,
    .mlp = TG_STABLELM_LN_2,
    .mlp_in = TG_STABLELM_X2,
    .units = TG_STABLELM_GATED,
    .q_projected = TG_STABLELM_Q,
    .k_projected = TG_STABLELM_K,
};
const tg_family tg_nanochat = {
    MEMBERS("nanochat",
            FEWER_SETTINGS | BIT(HEAD_DIM) | BIT(OUT_BIAS) | BIT(QK_NORM) | BIT(FINAL_LOGIT_SOFTCAPPING),
            nanochat, nanochat_acts),
    LLAMA_ACTS,
    .mlp = TG_NANOCHAT_NORM_2,
    .mlp_in = TG_NANOCHAT_X2,
    .units = TG_NANOCHAT_ACT,
    .bare_norms = true,
    .normed_embed = true,
};
