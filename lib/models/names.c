/* The names that other projects give to GPT-2's tensors. */
#include <string.h>

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

#define GPT2(variable, of_layout)                                                                            \
    const tg_names variable = {.what = "GPT-2",                                                              \
                               .row = gpt2,                                                                  \
                               .n = sizeof gpt2 / sizeof gpt2[0],                                            \
                               .layout = (of_layout),                                                        \
                               .prefixes = true}

GPT2(tg_names_gpt2, TG_LAYOUT_IN_OUT);
GPT2(tg_names_nanogpt, TG_LAYOUT_OUT_IN);
GPT2(tg_names_by_shape, TG_LAYOUT_BY_SHAPE);

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
