/* Hugging Face's config.json of the families after GPT-2. */
#include "lib/models/hf_families.h"

#include <stdio.h>
#include <string.h>

#include "lib/base/choice.h"
#include "lib/gpt/family.h"

/* A family as Hugging Face calls it, and what its class there assumes where the config says nothing. */
struct kind {
    const char *family; /* ours */
    size_t n_ctx;
    size_t n_kv_head; /* 0: as many as heads, which null means in all of them */
    size_t head_dim;  /* 0: hidden_size / num_attention_heads */
    size_t window;    /* null means none */
    bool window_is_asked_for;
    bool qkv_bias; /* whatever the config says */
    bool qk_norm;
    bool neox; /* LayerNorm, the exact GELU, a rotation of part of a head; keys of their own (read_neox()) */
};

/* clang-format off */
#define QWEN .n_ctx = 32768, .n_kv_head = 32, .window = 4096, .window_is_asked_for = true
/* "model_type", and the defaults of transformers 5: models/NAME/configuration_NAME.py */
#define KINDS(row)                                                                                           \
    row("llama",   .family = "llama", .n_ctx = 2048)                                                         \
    row("mistral", .family = "llama", .n_ctx = 131072, .n_kv_head = 8, .window = 4096)                       \
    row("qwen2",   .family = "qwen2", QWEN, .qkv_bias = true)                                                \
    row("qwen3",   .family = "qwen3", QWEN, .head_dim = 128, .qk_norm = true)                      \
    row("gpt_neox", .family = "gpt_neox", .n_ctx = 2048, .neox = true)
/* clang-format on */
#define KIND(type, ...) {__VA_ARGS__},
#define AND_TYPE(type, ...) "|" type

static const struct kind kinds[] = {KINDS(KIND)};

const char *tg_hf_families(void)
{
    return &(KINDS(AND_TYPE))[1]; /* without the first bar */
}

#define EPSILON 1e-6
#define THETA 10000

/* Missing, and not null. */
static bool is_missing(tg_hf_reading *r, const char *name)
{
    return !tg_json_has(&r->j, 0, name);
}

static void read_sizes(tg_hf_reading *r, const struct kind *kind)
{
    tg_config *c = &r->f->config;
    const bool own = kind->n_kv_head > 0 && is_missing(r, "num_key_value_heads");

    c->n_layer = tg_hf_need_size(r, 0, "num_hidden_layers");
    c->n_head = tg_hf_need_size(r, 0, "num_attention_heads");
    c->n_embd = tg_hf_need_size(r, 0, "hidden_size");
    c->n_inner = tg_hf_need_size(r, 0, "intermediate_size");
    c->vocab_size = tg_hf_need_size(r, 0, "vocab_size");
    c->n_ctx = tg_hf_get_size(r, 0, "max_position_embeddings", kind->n_ctx);
    c->n_kv_head = tg_hf_get_size(r, 0, "num_key_value_heads", own ? kind->n_kv_head : c->n_head);
    c->head_dim = kind->head_dim > 0 || c->n_head == 0 ? kind->head_dim : c->n_embd / c->n_head;
    c->head_dim = tg_hf_get_size(r, 0, "head_dim", c->head_dim);
    c->layer_norm_epsilon = tg_hf_get_number(r, 0, "rms_norm_eps", EPSILON);
}

/* ---- rotation */

/* The scaling in the object at `in`. */
static void read_scaling(tg_hf_reading *r, size_t in, const char *name)
{
    tg_config *c = &r->f->config;
    char type[TG_SHOWN_MAX], shown[TG_SHOWN_MAX + 10];

    tg_hf_get_text(r, in, "rope_type", type);
    if (type[0] == '\0')
        tg_hf_get_text(r, in, "type", type);
    if (type[0] == '\0' || strcmp(type, "default") == 0)
        return;
    if (strcmp(type, "linear") == 0) {
        c->rope_scaling = TG_ROPE_LINEAR;
    } else if (strcmp(type, "llama3") == 0) {
        c->rope_scaling = TG_ROPE_LLAMA3;
        c->rope_low_freq = tg_hf_need_number(r, in, "low_freq_factor");
        c->rope_high_freq = tg_hf_need_number(r, in, "high_freq_factor");
        c->rope_ctx = tg_hf_need_size(r, in, "original_max_position_embeddings");
    } else {
        snprintf(shown, sizeof shown, "scaling \"%s\"", type);
        tg_hf_refuse(r, name, shown);
    }
    c->rope_factor = tg_hf_need_number(r, in, "factor");
}

/* In files of transformers 5 one object has all; before, the base was a member of the config.  What the
 * object says counts. */
static void read_rotation(tg_hf_reading *r, bool neox)
{
    static const char *const objects[] = {"rope_scaling", "rope_parameters"};
    tg_config *c = &r->f->config;
    double part = tg_hf_get_number(r, 0, "partial_rotary_factor", 1);

    c->rope_theta = tg_hf_get_number(r, 0, neox ? "rotary_emb_base" : "rope_theta", THETA);
    c->rope_factor = c->rope_low_freq = c->rope_high_freq = c->embed_scale = 1;
    c->rope_ctx = 1;
    for (size_t i = 0; i < 2; i++) {
        size_t at;

        if (!tg_json_find(&r->j, 0, objects[i]))
            continue;
        at = r->j.at;
        c->rope_theta = tg_hf_get_number(r, at, "rope_theta", c->rope_theta);
        part = tg_hf_get_number(r, at, "partial_rotary_factor", part);
        read_scaling(r, at, objects[i]);
    }
    if (part != 1 && !neox)
        tg_hf_refuse(r, "partial_rotary_factor", "a rotation of part of a head");
}

/* ---- GPT-NeoX */

/* What of a head is rotated: like the base, a member of the config before transformers 5. */
static void read_part(tg_hf_reading *r)
{
    tg_config *c = &r->f->config;
    const size_t width = c->n_head > 0 ? c->n_embd / c->n_head : 0;
    double part = tg_hf_get_number(r, 0, "rotary_pct", 0.25);

    if (tg_json_find(&r->j, 0, "rope_parameters"))
        part = tg_hf_get_number(r, r->j.at, "partial_rotary_factor", part);
    if (part > 0 && part <= 1)
        c->rope_dim = (size_t)((double)width * part);
    if (c->rope_dim == 0)
        tg_hf_refuse(r, "rotary_pct", "a rotation of no channel, or of more than a head has,");
}

static void read_neox(tg_hf_reading *r)
{
    tg_config *c = &r->f->config;

    c->n_kv_head = c->head_dim = 0; /* as many heads, of the width divided by them */
    c->layer_norm_epsilon = tg_hf_get_number(r, 0, "layer_norm_eps", 1e-5);
    c->qkv_bias = c->out_bias = tg_hf_get_bool(r, "attention_bias", true);
    read_part(r);
    if (!tg_hf_get_bool(r, "use_parallel_residual", true))
        tg_hf_refuse(r, "use_parallel_residual", "attention and MLP one after the other");
}

/* ---- what is refused, unless it makes no difference */

static void check_window(tg_hf_reading *r, const struct kind *kind)
{
    const size_t n_ctx = r->f->config.n_ctx;
    size_t window;
    char shown[96];

    if (kind->window == 0 || (kind->window_is_asked_for && !tg_hf_get_bool(r, "use_sliding_window", false)))
        return;
    window = tg_hf_get_size(r, 0, "sliding_window", is_missing(r, "sliding_window") ? kind->window : n_ctx);
    snprintf(shown, sizeof shown, "a window of %zu, shorter than the context of %zu,", window, n_ctx);
    if (window < n_ctx)
        tg_hf_refuse(r, "sliding_window", shown);
}

static unsigned family_number(const char *name)
{
    size_t number = 0;

    (void)tg_choice_find(&number, tg_family_names, name);
    return (unsigned)number;
}

void tg_hf_family_read(tg_hf_reading *r, size_t type)
{
    const struct kind *kind = &kinds[type];
    tg_config *c = &r->f->config;
    const bool bias = tg_hf_get_bool(r, "attention_bias", false);

    c->family = family_number(kind->family);
    read_sizes(r, kind);
    c->activation = tg_hf_get_activation(r, "hidden_act", kind->neox ? TG_GELU_ERF : TG_SILU);
    read_rotation(r, kind->neox);
    check_window(r, kind);
    c->tied = tg_hf_get_bool(r, "tie_word_embeddings", false);
    c->qkv_bias = kind->qkv_bias || bias;
    c->out_bias = !kind->qkv_bias && bias;
    c->mlp_bias = tg_hf_get_bool(r, "mlp_bias", false);
    c->qk_norm = kind->qk_norm;
    if (kind->neox)
        read_neox(r);
    tg_hf_refuse_quantised(r);
    r->f->config_known = ~(uint64_t)0;
}
