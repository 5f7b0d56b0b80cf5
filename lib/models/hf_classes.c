#include "lib/models/hf_classes.h"

#include <math.h>
#include <string.h>

#include "lib/base/choice.h"
#include "lib/gpt/family.h"
#include "lib/models/canonical.h"

#define BIT(member) TG_CONFIG_BIT(TG_CONFIG_##member)

/* ---- keys, in the order in which they are written */

/* clang-format off */
#define MEMBER(name, member) {name, TG_HF_MEMBER, BIT(member), NULL}
#define CONSTANT(name, value) {name, TG_HF_CONSTANT, 0, value}

#define SIZES \
    MEMBER("vocab_size", VOCAB_SIZE), \
    MEMBER("max_position_embeddings", N_CTX), \
    MEMBER("hidden_size", N_EMBD), \
    MEMBER("intermediate_size", N_INNER), \
    MEMBER("num_hidden_layers", N_LAYER), \
    MEMBER("num_attention_heads", N_HEAD)
#define HEADS \
    MEMBER("num_key_value_heads", N_KV_HEAD), \
    MEMBER("head_dim", HEAD_DIM)
#define COMMON SIZES, HEADS, MEMBER("rms_norm_eps", LAYER_NORM_EPSILON), MEMBER("tie_word_embeddings", TIED)
#define ACT(name) {name, TG_HF_ACTIVATION, BIT(ACTIVATION), NULL}
#define BIASES {"attention_bias", TG_HF_BIASES, BIT(QKV_BIAS) | BIT(OUT_BIAS), NULL}
#define NO_BIASES CONSTANT("attention_bias", "false")
#define OF_SCALING \
    (BIT(ROPE_SCALING) | BIT(ROPE_FACTOR) | BIT(ROPE_LOW_FREQ) | BIT(ROPE_HIGH_FREQ) | BIT(ROPE_CTX))
#define SCALING {"rope_scaling", TG_HF_SCALING, OF_SCALING, NULL}
#define TYPED_SCALING {"rope_scaling", TG_HF_TYPED_SCALING, OF_SCALING, NULL}
#define ROTATION MEMBER("rope_theta", ROPE_THETA), SCALING
#define PARTLY(name) {name, TG_HF_ROTATED_PART, BIT(ROPE_DIM), NULL}
#define WINDOWS (BIT(WINDOW) | BIT(WINDOW_LAYERS))
#define LAYER_TYPES {"layer_types", TG_HF_LAYER_TYPES, WINDOWS, NULL}
#define OPTIONAL_WINDOWS \
    {"use_sliding_window", TG_HF_HAS_WINDOW, WINDOWS, NULL}, \
    {"sliding_window", TG_HF_WINDOW, WINDOWS, NULL}, \
    LAYER_TYPES
#define GEMMA_ACT ACT("hidden_activation"), NO_BIASES
#define GEMMA_WINDOWS {"sliding_window", TG_HF_WINDOW_SIZE, WINDOWS, NULL}, LAYER_TYPES
#define GEMMA_SCALE {"query_pre_attn_scalar", TG_HF_SCALE, BIT(ATTN_SCALE), NULL}

static const tg_hf_key
    llama[] = {COMMON, ACT("hidden_act"), BIASES, MEMBER("mlp_bias", MLP_BIAS), ROTATION},
    mistral[] = {COMMON, ACT("hidden_act"), ROTATION, {"sliding_window", TG_HF_WINDOW, WINDOWS, NULL}},
    smollm3[] = {COMMON, ACT("hidden_act"), BIASES, MEMBER("mlp_bias", MLP_BIAS), ROTATION,
                 {"no_rope_layers", TG_HF_ROTATED_LAYERS, BIT(UNROTATED_LAYERS), NULL}, OPTIONAL_WINDOWS},
    qwen2[] = {COMMON, ACT("hidden_act"), ROTATION, OPTIONAL_WINDOWS,
               {"max_window_layers", TG_HF_WINDOW_FIRST, WINDOWS, NULL}},
    qwen3[] = {COMMON, ACT("hidden_act"), BIASES, ROTATION, OPTIONAL_WINDOWS,
               {"max_window_layers", TG_HF_WINDOW_FIRST, WINDOWS, NULL}},
    /* some versions read the one key, some the other, and some take "gelu" for the tanh form */
    gemma[] = {COMMON, CONSTANT("hidden_act", "\"gelu_pytorch_tanh\""),
               CONSTANT("hidden_activation", "\"gelu_pytorch_tanh\""), BIASES, ROTATION},
    gemma2[] = {COMMON, GEMMA_ACT, ROTATION, GEMMA_SCALE, GEMMA_WINDOWS,
                {"attn_logit_softcapping", TG_HF_CAP, BIT(ATTN_CAP), NULL},
                {"final_logit_softcapping", TG_HF_CAP, BIT(FINAL_LOGIT_SOFTCAPPING), NULL}},
    gemma3[] = {COMMON, GEMMA_ACT, ROTATION,
                {"rope_local_base_freq", TG_HF_LOCAL_THETA, BIT(ROPE_LOCAL_THETA), NULL}, GEMMA_SCALE,
                GEMMA_WINDOWS, CONSTANT("attn_logit_softcapping", "null"),
                CONSTANT("final_logit_softcapping", "null")},
    /* version 4 wants "type" here, and knows only "linear"; version 5 of Gemma 3 does not look at it */
    olmo2[] = {COMMON, ACT("hidden_act"), NO_BIASES, MEMBER("rope_theta", ROPE_THETA), TYPED_SCALING},
    /* it has no other scaling than one that depends on the length of the text */
    phi3[] = {COMMON, ACT("hidden_act"), MEMBER("rope_theta", ROPE_THETA), PARTLY("partial_rotary_factor"),
              {"sliding_window", TG_HF_WINDOW, WINDOWS, NULL}},
    neox[] = {SIZES, MEMBER("layer_norm_eps", LAYER_NORM_EPSILON), MEMBER("tie_word_embeddings", TIED),
              ACT("hidden_act"), BIASES, PARTLY("rotary_pct"),
              MEMBER("rotary_emb_base", ROPE_THETA), SCALING, CONSTANT("use_parallel_residual", "true")};
static const tg_hf_key
    nanochat[] = {COMMON, ACT("hidden_act"), BIASES, ROTATION,
                  {"final_logit_softcapping", TG_HF_CAP, BIT(FINAL_LOGIT_SOFTCAPPING), NULL}},
    stablelm[] = {SIZES, MEMBER("num_key_value_heads", N_KV_HEAD), MEMBER("layer_norm_eps", LAYER_NORM_EPSILON),
                  MEMBER("tie_word_embeddings", TIED), ACT("hidden_act"), MEMBER("use_qkv_bias", QKV_BIAS),
                  CONSTANT("qk_layernorm", "false"), CONSTANT("use_parallel_residual", "false"),
                  MEMBER("rope_theta", ROPE_THETA), PARTLY("partial_rotary_factor"), SCALING};
/* clang-format on */

/* ---- classes */

#define CLASS(name, class, of_family, keys)                                                                  \
    .type = (name), .architecture = class "ForCausalLM", .family = (of_family), .key = (keys),               \
    .n_keys = sizeof(keys) / sizeof(keys)[0]

static const tg_hf_class classes[] = {
    {CLASS("llama", "Llama", "llama", llama), .divides = true},
    {CLASS("mistral", "Mistral", "llama", mistral), .same_window = true},
    {CLASS("smollm3", "SmolLM3", "llama", smollm3)},
    {CLASS("qwen2", "Qwen2", "qwen2", qwen2), .qkv_bias = true},
    {CLASS("qwen3", "Qwen3", "qwen3", qwen3), .qk_norm = true},
    {CLASS("gemma", "Gemma", "gemma", gemma), .gemma = true},
    {CLASS("gemma2", "Gemma2", "gemma2", gemma2), .gemma = true, .divides = true},
    {CLASS("gemma3_text", "Gemma3", "gemma3", gemma3), .gemma = true, .qk_norm = true, .divides = true},
    {CLASS("olmo2", "Olmo2", "olmo2", olmo2), .qk_norm = true},
    {CLASS("gpt_neox", "GPTNeoX", "gpt_neox", neox), .divides = true},
    {CLASS("phi3", "Phi3", "phi3", phi3), .same_window = true},
    {CLASS("stablelm", "StableLm", "stablelm", stablelm), .divides = true},
    {CLASS("nanochat", "NanoChat", "nanochat", nanochat), .qk_norm = true, .divides = true},
};

static bool has_windows(const tg_config *c)
{
    return tg_config_canonical(c).window > 0;
}

/* Llama's own class has neither windows nor layers that do not rotate. */
static const char *type_for(const tg_config *c)
{
    if (tg_config_canonical(c).unrotated_layers != 0)
        return "smollm3";
    return has_windows(c) || c->n_embd % c->n_head != 0 ? "mistral" : "llama";
}

const tg_hf_class *tg_hf_class_for(const tg_config *c)
{
    const char *const family = tg_config_family(c)->name;
    const char *const type = strcmp(family, "llama") == 0 ? type_for(c) : NULL;

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (strcmp(classes[i].family, family) == 0 && (!type || strcmp(classes[i].type, type) == 0))
            return &classes[i];
    return NULL;
}

tg_config tg_hf_class_padded(const tg_hf_class *class, const tg_config *c)
{
    tg_config all = *c;

    all.qkv_bias |= class->qkv_bias;
    for (size_t i = 0; i < class->n_keys; i++)
        if (class->key[i].how == TG_HF_BIASES)
            all.qkv_bias = all.out_bias = c->qkv_bias || c->out_bias;
    return all;
}

/* ---- what a class cannot say */

static double root(size_t x)
{
    return sqrt((double)x);
}

size_t tg_hf_scale(const tg_config *c)
{
    double x;

    if (c->attn_scale == 0)
        return tg_config_head_dim(c);
    x = round(1 / (c->attn_scale * c->attn_scale));
    return x >= 1 && x < TG_SIZE_LIMIT && tg_same_float(1 / sqrt(x), c->attn_scale) ? (size_t)x : 0;
}

/* What the members are that the class's keys do not say. */
static tg_config fixed(const tg_hf_class *class, const tg_config *c)
{
    tg_config all = {
        .family = c->family,
        .qkv_bias = class->qkv_bias,
        .qk_norm = class->qk_norm,
        .activation = class->gemma ? TG_GELU_TANH : TG_SILU,
        .norm_offset = class->gemma,
        .embed_scale = class->gemma ? root(c->n_embd) : 0,
    };

    tg_config_neutral(&all);
    return all;
}

static uint64_t said(const tg_hf_class *class)
{
    uint64_t members = 0;

    for (size_t i = 0; i < class->n_keys; i++)
        members |= class->key[i].members;
    return members;
}

/* transformers multiplies embeddings with sqrt(C) in the type of the weights. */
static double scale_in(const tg_config *c, tg_write_type type)
{
    return tg_rounded_to(type, root(c->n_embd));
}

/* Whether the model's is that, rounded as its weights are. */
static bool has_scale(const tg_config *c, tg_write_type type)
{
    return tg_same_float(tg_rounded_to(type, c->embed_scale), scale_in(c, type));
}

static tg_status check_scale(const tg_hf_class *class, const tg_config *c, tg_write_type type, tg_err *err)
{
    const tg_write_type other = tg_scale_type(c);
    char name[TG_CHOICE_SIZE];

    if (!class->gemma || has_scale(c, type) || other == TG_WRITE_F32)
        return TG_OK;
    return tg_fail(
        err, TG_EUSAGE,
        "config/embed_scale is %.9g, but Hugging Face's \"%s\" has %.9g with weights of this type: "
        "expected --dtype %s",
        c->embed_scale, class->type, scale_in(c, type), tg_choice_name(name, TG_WRITE_TYPE_NAMES, other));
}

/* The config that is compared with these. */
static tg_config comparable(const tg_hf_class *class, const tg_config *config, tg_write_type type)
{
    tg_config c = tg_hf_class_padded(class, config);

    c = tg_config_canonical(&c);
    if (class->gemma && has_scale(&c, type))
        c.embed_scale = root(c.n_embd);
    return c;
}

static tg_status check_fixed(const tg_hf_class *class, const tg_config *config, tg_write_type type,
                             tg_err *err)
{
    const tg_config c = comparable(class, config, type), want = fixed(class, config);

    return tg_config_check_fixed(config, &c, &want, said(class), "Hugging Face's", class->type, err);
}

static tg_status check_windows(const tg_hf_class *class, const tg_config *c, tg_err *err)
{
    if (!class->same_window || tg_config_has_same_windows(c))
        return TG_OK;
    return tg_fail(
        err, TG_EUSAGE,
        "config/window_layers is %llu, but Hugging Face's \"%s\" has the window in all layers or in "
        "none",
        (unsigned long long)c->window_layers, class->type);
}

/* Of layers with the window, Gemma 3 does not scale the rotation; others have no key for their base. */
static tg_status check_local_rotation(const tg_hf_class *class, const tg_config *c, tg_err *err)
{
    char scaling[TG_CHOICE_SIZE];

    if (!(said(class) & BIT(ROPE_LOCAL_THETA)) || c->rope_scaling == TG_ROPE_PLAIN || !has_windows(c) ||
        c->rope_local_theta > 0)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE,
                   "config/rope_scaling is %s, but Hugging Face's \"%s\" does not scale the rotation of "
                   "layers with a window",
                   tg_config_scaling(scaling, c), class->type);
}

static tg_status check_sizes(const tg_hf_class *class, const tg_config *c, tg_err *err)
{
    if (class->divides && c->n_embd % c->n_head != 0)
        return tg_fail(err, TG_EUSAGE,
                       "config/n_embd is %zu, but Hugging Face's \"%s\" needs a multiple of config/n_head, "
                       "%zu",
                       c->n_embd, class->type, c->n_head);
    if (said(class) & BIT(ATTN_SCALE) && tg_hf_scale(c) == 0)
        return tg_fail(
            err, TG_EUSAGE,
            "config/attn_scale is %.9g, but Hugging Face's \"%s\" needs 1 / sqrt(x) of an integer x",
            c->attn_scale, class->type);
    return TG_OK;
}

tg_status tg_hf_class_check(const tg_hf_class *class, const tg_config *c, tg_write_type type, tg_err *err)
{
    tg_status status = check_scale(class, c, type, err);

    if (status || (status = check_fixed(class, c, type, err)) || (status = check_windows(class, c, err)) ||
        (status = check_local_rotation(class, c, err)))
        return status;
    return check_sizes(class, c, err);
}
