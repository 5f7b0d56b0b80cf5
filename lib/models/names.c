/* The names that other projects give to a family's tensors: a table for each format. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "lib/models/model_format.h"

/* Q, k and v as matrices of their own are not GPT-2's, but many of its relatives'. */
static const tg_name gpt2[] = {
    {"wte.weight", TG_WTE, 0, 0, false},
    {"wpe.weight", TG_WPE, 0, 0, false},
    {"h.N.ln_1.weight", TG_LN1_W, 0, 0, false},
    {"h.N.ln_1.bias", TG_LN1_B, 0, 0, false},
    {"h.N.attn.c_attn.weight", TG_QKV_W, 0, 0, false},
    {"h.N.attn.c_attn.bias", TG_QKV_B, 0, 0, false},
    {"h.N.attn.q_proj.weight", TG_QKV_W, TG_NAME_Q, 0, false},
    {"h.N.attn.k_proj.weight", TG_QKV_W, TG_NAME_K, 0, false},
    {"h.N.attn.v_proj.weight", TG_QKV_W, TG_NAME_V, 0, false},
    {"h.N.attn.q_proj.bias", TG_QKV_B, TG_NAME_Q, 0, false},
    {"h.N.attn.k_proj.bias", TG_QKV_B, TG_NAME_K, 0, false},
    {"h.N.attn.v_proj.bias", TG_QKV_B, TG_NAME_V, 0, false},
    {"h.N.attn.c_proj.weight", TG_ATT_PROJ_W, 0, 0, false},
    {"h.N.attn.c_proj.bias", TG_ATT_PROJ_B, 0, 0, false},
    {"h.N.attn.bias", TG_NAME_IGNORED, 0, 0, false}, /* the causal mask */
    {"h.N.attn.masked_bias", TG_NAME_IGNORED, 0, 0, false},
    {"h.N.ln_2.weight", TG_LN2_W, 0, 0, false},
    {"h.N.ln_2.bias", TG_LN2_B, 0, 0, false},
    {"h.N.mlp.c_fc.weight", TG_FC_W, 0, 0, false},
    {"h.N.mlp.c_fc.bias", TG_FC_B, 0, 0, false},
    {"h.N.mlp.c_proj.weight", TG_FC_PROJ_W, 0, 0, false},
    {"h.N.mlp.c_proj.bias", TG_FC_PROJ_B, 0, 0, false},
    {"ln_f.weight", TG_LNF_W, 0, 0, false},
    {"ln_f.bias", TG_LNF_B, 0, 0, false},
    {"lm_head.weight", TG_HEAD_W, 0, 0, false},
    {"lm_head.bias", TG_HEAD_B, 0, 0, false},
};

static const tg_name gpt2_gguf[] = {
    {.pattern = "token_embd.weight", .kind = TG_WTE},
    {.pattern = "position_embd.weight", .kind = TG_WPE},
    {.pattern = "blk.N.attn_norm.weight", .kind = TG_LN1_W},
    {.pattern = "blk.N.attn_norm.bias", .kind = TG_LN1_B},
    {.pattern = "blk.N.attn_qkv.weight", .kind = TG_QKV_W},
    {.pattern = "blk.N.attn_qkv.bias", .kind = TG_QKV_B},
    {.pattern = "blk.N.attn_output.weight", .kind = TG_ATT_PROJ_W},
    {.pattern = "blk.N.attn_output.bias", .kind = TG_ATT_PROJ_B},
    {.pattern = "blk.N.ffn_norm.weight", .kind = TG_LN2_W},
    {.pattern = "blk.N.ffn_norm.bias", .kind = TG_LN2_B},
    {.pattern = "blk.N.ffn_up.weight", .kind = TG_FC_W},
    {.pattern = "blk.N.ffn_up.bias", .kind = TG_FC_B},
    {.pattern = "blk.N.ffn_down.weight", .kind = TG_FC_PROJ_W},
    {.pattern = "blk.N.ffn_down.bias", .kind = TG_FC_PROJ_B},
    {.pattern = "output_norm.weight", .kind = TG_LNF_W},
    {.pattern = "output_norm.bias", .kind = TG_LNF_B},
    {.pattern = "output.weight", .kind = TG_HEAD_W},
    {.pattern = "blk.N.attn_q.weight", .kind = TG_QKV_W, .part = TG_NAME_Q},
    {.pattern = "blk.N.attn_k.weight", .kind = TG_QKV_W, .part = TG_NAME_K},
    {.pattern = "blk.N.attn_v.weight", .kind = TG_QKV_W, .part = TG_NAME_V},
    {.pattern = "blk.N.attn_q.bias", .kind = TG_QKV_B, .part = TG_NAME_Q},
    {.pattern = "blk.N.attn_k.bias", .kind = TG_QKV_B, .part = TG_NAME_K},
    {.pattern = "blk.N.attn_v.bias", .kind = TG_QKV_B, .part = TG_NAME_V},
};

/* Families with a matrix each for q, k and v, which a file may have in one, one after another. */
/* clang-format off */
#define BOTH(name, of_kind) \
    {.pattern = name ".weight", .kind = (of_kind)}, {.pattern = name ".bias", .kind = (of_kind) + 1}
#define FAMILY_GGUF(...) \
    BOTH("blk.N.attn_norm", TG_LN1_W), \
    BOTH("blk.N.attn_q", TG_Q_W), \
    BOTH("blk.N.attn_k", TG_K_W), \
    BOTH("blk.N.attn_v", TG_V_W), \
    BOTH("blk.N.attn_qkv", TG_QKV_W), \
    {.pattern = "blk.N.attn_q_norm.weight", .kind = TG_Q_NORM_W}, \
    {.pattern = "blk.N.attn_k_norm.weight", .kind = TG_K_NORM_W}, \
    BOTH("blk.N.attn_output", TG_ATT_PROJ_W), \
    {.pattern = "blk.N.post_attention_norm.weight", .kind = TG_OUT_NORM_W}, \
    BOTH("blk.N.ffn_norm", TG_LN2_W), \
    __VA_ARGS__, \
    BOTH("blk.N.ffn_down", TG_FC_PROJ_W), \
    {.pattern = "blk.N.post_ffw_norm.weight", .kind = TG_DOWN_NORM_W}, \
    {.pattern = "token_embd.weight", .kind = TG_WTE}, \
    BOTH("output_norm", TG_LNF_W), \
    {.pattern = "output.weight", .kind = TG_HEAD_W}, \
    {.pattern = "rope_freqs.weight", .kind = TG_NAME_IGNORED} /* it is a part of the config */
/* clang-format on */

static const tg_name gated_gguf[] = {
    FAMILY_GGUF(BOTH("blk.N.ffn_gate", TG_GATE_W), BOTH("blk.N.ffn_up", TG_UP_W)),
};
static const tg_name phi3_gguf[] = {FAMILY_GGUF(BOTH("blk.N.ffn_up", TG_NAME_GATE_UP_W))};
static const tg_name neox_gguf[] = {FAMILY_GGUF(BOTH("blk.N.ffn_up", TG_FC_W))};

/* Hugging Face's, where they are not the parameters' own. */
static const tg_name neox[] = {
    BOTH("gpt_neox.layers.N.attention.query_key_value", TG_QKV_W),
    {.pattern = "gpt_neox.layers.N.attention.bias", .kind = TG_NAME_IGNORED}, /* the causal mask */
    {.pattern = "gpt_neox.layers.N.attention.masked_bias", .kind = TG_NAME_IGNORED},
};

static const tg_name phi3[] = {
    {.pattern = "model.layers.N.self_attn.qkv_proj.weight", .kind = TG_QKV_W},
    {.pattern = "model.layers.N.mlp.gate_up_proj.weight", .kind = TG_NAME_GATE_UP_W},
};

#define ROWS(rows) .row = (rows), .n = sizeof(rows) / sizeof(rows)[0]
#define NAMES(family_name, shown, rows, of_layout, may_have_prefixes)                                        \
    {                                                                                                        \
        .family = (family_name), .what = (shown), ROWS(rows), .layout = (of_layout),                         \
        .prefixes = (may_have_prefixes)                                                                      \
    }

const tg_names tg_names_gpt2 = NAMES("gpt2", "GPT-2", gpt2, TG_LAYOUT_IN_OUT, true);
const tg_names tg_names_nanogpt = NAMES("gpt2", "GPT-2", gpt2, TG_LAYOUT_OUT_IN, true);
const tg_names tg_names_by_shape = NAMES("gpt2", "GPT-2", gpt2, TG_LAYOUT_BY_SHAPE, true);
const tg_names tg_names_gguf = NAMES("gpt2", "GPT-2", gpt2_gguf, TG_LAYOUT_OUT_IN, false);
const tg_names tg_names_gguf_gated = NAMES("llama", "Llama", gated_gguf, TG_LAYOUT_OUT_IN, false);
const tg_names tg_names_gguf_phi3 = NAMES("phi3", "Phi-3", phi3_gguf, TG_LAYOUT_OUT_IN, false);
const tg_names tg_names_gguf_neox = NAMES("gpt_neox", "GPT-NeoX", neox_gguf, TG_LAYOUT_OUT_IN, false);

static const tg_names of_hf[] = {
    {.family = "gpt_neox", .what = "GPT-NeoX", ROWS(neox), .by_head = true},
    {.family = "phi3", .what = "Phi-3", ROWS(phi3)},
    {.family = "nanochat", .what = "nanochat", .swapped = true}, /* it rotates by the angle's negative */
};

const tg_names *tg_names_hf(const char *family)
{
    for (size_t i = 0; i < sizeof of_hf / sizeof of_hf[0]; i++)
        if (strcmp(of_hf[i].family, family) == 0)
            return &of_hf[i];
    return NULL;
}

/* ---- several parameters in one tensor */

static const tg_joint joints[] = {
    {TG_QKV_W, {TG_Q_W, TG_K_W, TG_V_W}, 3},
    {TG_QKV_B, {TG_Q_B, TG_K_B, TG_V_B}, 3},
    {TG_NAME_GATE_UP_W, {TG_GATE_W, TG_UP_W}, 2},
    {TG_NAME_GATE_UP_B, {TG_GATE_B, TG_UP_B}, 2},
};
#define JOINTS (sizeof joints / sizeof joints[0])

const tg_joint *tg_joint_of(int kind)
{
    for (size_t j = 0; j < JOINTS; j++)
        if (joints[j].kind == kind)
            return &joints[j];
    return NULL;
}

/* ---- names */

static const char *without_prefixes(const char *name)
{
    static const char *const prefixes[] = {"transformer.", "_orig_mod.", "module.", "model."};
    size_t i = 0;

    while (i < sizeof prefixes / sizeof prefixes[0]) {
        const size_t n = strlen(prefixes[i]);

        if (strncmp(name, prefixes[i], n) == 0) {
            name += n;
            i = 0;
        } else {
            i++;
        }
    }
    return name;
}

static bool is_alphanumeric(char ch)
{
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9');
}

/* A decimal number below 10^5, without leading zeros; advances *at past it. */
static bool take_number(const char **at, size_t *number)
{
    const char *p = *at;
    size_t digits = 0;

    for (*number = 0; p[digits] >= '0' && p[digits] <= '9' && digits < 5; digits++)
        *number = *number * 10 + (size_t)(p[digits] - '0');
    *at += digits;
    return digits == 1 || (digits > 1 && p[0] != '0');
}

static bool matches(const tg_name *row, const char *name, size_t *layer)
{
    const char *const pattern = row->pattern;

    *layer = row->layer;
    for (size_t i = 0; pattern[i] != '\0'; i++) {
        if (pattern[i] == 'N' && (i == 0 || !is_alphanumeric(pattern[i - 1])) &&
            !is_alphanumeric(pattern[i + 1])) {
            if (!take_number(&name, layer))
                return false;
        } else if (pattern[i] != *name++) {
            return false;
        }
    }
    return *name == '\0';
}

const tg_name *tg_names_find(const tg_names *names, const char *name, size_t *layer)
{
    if (names->prefixes)
        name = without_prefixes(name);
    for (size_t i = 0; i < names->n; i++)
        if (matches(&names->row[i], name, layer))
            return &names->row[i];
    return NULL;
}

/* NULL: there is none. */
static const char *pattern_of(const tg_names *names, int kind, int part)
{
    for (size_t i = 0; i < names->n; i++)
        if (names->row[i].kind == kind && names->row[i].part == part)
            return names->row[i].pattern;
    return NULL;
}

static bool has_part(const tg_joint *joint, tg_param_kind part)
{
    for (size_t i = 0; i < joint->n; i++)
        if (joint->part[i] == part)
            return true;
    return false;
}

const tg_joint *tg_names_joint(const tg_names *names, tg_param_kind part)
{
    for (size_t j = 0; names && j < JOINTS; j++)
        if (has_part(&joints[j], part) && pattern_of(names, joints[j].kind, TG_NAME_WHOLE))
            return &joints[j];
    return NULL;
}

void tg_names_put(char *name, size_t size, const tg_names *names, int kind, int part, size_t layer)
{
    const char *const pattern = pattern_of(names, kind, part), *number;

    assert(pattern);
    number = strchr(pattern, 'N');
    if (number)
        snprintf(name, size, "%.*s%zu%s", (int)(number - pattern), pattern, layer, number + 1);
    else
        snprintf(name, size, "%s", pattern);
}

const char *tg_activation_text(tg_activation activation)
{
    static const char *const text[TG_ACTIVATION_KINDS] = {[TG_GELU_TANH] = "gelu_new (tanh)",
                                                          [TG_GELU_ERF] = "gelu (exact)",
                                                          [TG_SILU] = "silu",
                                                          [TG_RELU2] = "relu2"};

    return text[activation];
}

tg_status tg_names_check_family(const tg_names *names, const tg_config *config, const char *format,
                                tg_err *err)
{
    const char *const family = tg_config_family(config)->name;

    if (strcmp(family, names->family) == 0)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "%s has no names for the tensors of a model of the family %s", format,
                   family);
}
