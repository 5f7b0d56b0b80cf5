/* Hugging Face's config.json of the families after GPT-2. */
#include "lib/models/hf_families.h"

#include <math.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "lib/models/hf_layers.h"
#include "lib/models/hf_rotation.h"

/* A family as Hugging Face calls it, and what its class there assumes where the config says nothing. */
struct kind {
    const char *family; /* ours */
    const char *part;   /* the object of the config that has the text model's settings; NULL: the whole */
    size_t n_ctx;
    size_t n_layer, n_head, n_embd, n_inner, vocab_size; /* 0: the config must say it */
    size_t n_kv_head;                    /* 0: as many as heads, which null means in all of them */
    size_t head_dim;                     /* 0: hidden_size / num_attention_heads */
    const char *epsilon_key, *theta_key; /* NULL: "rms_norm_eps", "rope_theta" */
    const char *bias_key;                /* NULL: "attention_bias" */
    double epsilon;                      /* 0: 1e-6 */
    double theta, local_theta;           /* 0: 10000; that of all layers */
    const char *rotated_key;             /* how much of a head is rotated; NULL: always all of it */
    double rotated;                      /* where nothing says it */
    double query_scalar;                 /* scores are divided by the root of it; 0: of head_dim */
    double attn_cap, cap;                /* of scores and of logits; 0: the class has none */
    size_t window;                       /* 0: none, which null means in all of them */
    tg_hf_windows windows;
    tg_activation activation;
    bool tied;
    bool bias;     /* where nothing says it */
    bool qkv_bias; /* whatever the config says */
    bool qk_norm;
    bool unrotated;                            /* some layers do not rotate */
    bool gemma;                                /* gains from 1, a scale of the embedding, GELU */
    enum { NOT_SAID, PARALLEL, SERIAL } order; /* of attention and MLP, which "use_parallel_residual" says */
};

/* clang-format off */
#define PARTLY "partial_rotary_factor"
#define SILU .activation = TG_SILU
#define QWEN SILU, .n_ctx = 32768, .n_kv_head = 32, .windows = TG_HF_LAST, .window = 4096
#define GEMMA .head_dim = 256, .tied = true, .gemma = true
#define GEMMA3                                                                                               \
    GEMMA, .family = "gemma3", .n_ctx = 131072, .n_layer = 26, .n_head = 8, .n_kv_head = 4, .n_embd = 2304,  \
    .n_inner = 9216, .vocab_size = 262208, .theta = 1e6, .local_theta = 10000, .windows = TG_HF_MOST,        \
    .window = 4096, .qk_norm = true, .query_scalar = 256
/* "model_type", and the defaults of transformers 5: models/NAME/configuration_NAME.py */
#define KINDS(row)                                                                                           \
    row("llama",   .family = "llama", SILU, .n_ctx = 2048)                                                   \
    row("mistral", .family = "llama", SILU, .n_ctx = 131072, .n_kv_head = 8, .windows = TG_HF_ALL,           \
        .window = 4096)                                                                                      \
    row("smollm3", .family = "llama", SILU, .n_ctx = 32768, .n_kv_head = 4, .theta = 2e6, .tied = true,      \
        .windows = TG_HF_UNROTATED, .unrotated = true)                                                       \
    row("qwen2",   .family = "qwen2", QWEN, .qkv_bias = true)                                                \
    row("qwen3",   .family = "qwen3", QWEN, .head_dim = 128, .qk_norm = true)                                \
    row("gemma",   .family = "gemma", GEMMA, .n_ctx = 8192, .n_kv_head = 16)                                 \
    row("gemma2",  .family = "gemma2", GEMMA, .n_ctx = 8192, .n_kv_head = 4, .windows = TG_HF_EVEN,          \
        .window = 4096, .query_scalar = 256, .attn_cap = 50, .cap = 30)                                      \
    row("gemma3_text", GEMMA3)                                                                               \
    row("gemma3",  GEMMA3, .part = "text_config")                                                            \
    row("olmo2",   .family = "olmo2", SILU, .n_ctx = 2048, .epsilon = 1e-5, .qk_norm = true)                 \
    row("gpt_neox", .family = "gpt_neox", .activation = TG_GELU_ERF, .n_ctx = 2048, .epsilon = 1e-5,         \
        .epsilon_key = "layer_norm_eps", .theta_key = "rotary_emb_base", .rotated_key = "rotary_pct",        \
        .rotated = 0.25, .bias = true, .order = PARALLEL)                                                    \
    row("phi3",    .family = "phi3", SILU, .n_ctx = 4096, .epsilon = 1e-5, .windows = TG_HF_ALL,             \
        .rotated_key = PARTLY, .rotated = 1)                                                                 \
    row("stablelm", .family = "stablelm", SILU, .n_ctx = 4096, .n_kv_head = 32, .epsilon = 1e-5,             \
        .epsilon_key = "layer_norm_eps", .rotated_key = PARTLY, .rotated = 0.25, .bias_key = "use_qkv_bias", \
        .order = SERIAL)                                                                                     \
    row("nanochat", .family = "nanochat", .activation = TG_RELU2, .n_ctx = 2048, .qk_norm = true, .cap = 15)
/* clang-format on */
#define KIND(type, ...) {__VA_ARGS__},
#define AND_TYPE(type, ...) "|" type

static const struct kind kinds[] = {KINDS(KIND)};

const char *tg_hf_families(void)
{
    return &(KINDS(AND_TYPE))[1]; /* without the first bar */
}

#define EPSILON 1e-6
#define KV_HEADS "num_key_value_heads"
#define HEADS "num_attention_heads"

/* A size that Gemma 3's files leave out where it is the default. */
static size_t read_size(tg_hf_reading *r, const char *name, size_t otherwise)
{
    return otherwise > 0 ? tg_hf_get_size(r, r->in, name, otherwise) : tg_hf_need_size(r, r->in, name);
}

static void read_heads(tg_hf_reading *r, const struct kind *kind)
{
    tg_config *c = &r->f->config;
    const bool own = kind->n_kv_head > 0 && tg_hf_is_missing(r, KV_HEADS);

    c->n_kv_head = tg_hf_get_size(r, r->in, KV_HEADS, own ? kind->n_kv_head : c->n_head);
    if (!tg_config_has(c, TG_CONFIG_HEAD_DIM))
        return;
    c->head_dim = kind->head_dim > 0 || c->n_head == 0 ? kind->head_dim : c->n_embd / c->n_head;
    c->head_dim = tg_hf_get_size(r, r->in, "head_dim", c->head_dim);
}

static const char *epsilon_of(const struct kind *kind)
{
    return kind->epsilon_key ? kind->epsilon_key : "rms_norm_eps";
}

static void read_sizes(tg_hf_reading *r, const struct kind *kind)
{
    tg_config *c = &r->f->config;

    c->n_layer = read_size(r, "num_hidden_layers", kind->n_layer);
    c->n_head = read_size(r, HEADS, kind->n_head);
    c->n_embd = read_size(r, "hidden_size", kind->n_embd);
    c->n_inner = read_size(r, "intermediate_size", kind->n_inner);
    c->vocab_size = read_size(r, "vocab_size", kind->vocab_size);
    c->n_ctx = tg_hf_get_size(r, r->in, "max_position_embeddings", kind->n_ctx);
    if (tg_config_has(c, TG_CONFIG_N_KV_HEAD))
        read_heads(r, kind);
    c->layer_norm_epsilon =
        tg_hf_get_number(r, r->in, epsilon_of(kind), kind->epsilon > 0 ? kind->epsilon : EPSILON);
}

/* ---- scores, logits and biases */

/* Null is no cap. */
static double read_cap(tg_hf_reading *r, const char *name, double otherwise)
{
    double cap;

    if (!tg_json_find(&r->j, r->in, name))
        return tg_hf_is_missing(r, name) ? otherwise : 0;
    cap = tg_json_get_number(&r->j);
    if (cap <= 0)
        tg_hf_refuse(r, name, "a cap that is not above 0");
    else if (otherwise == 0)
        tg_hf_refuse(r, name, "a cap of this family");
    return cap;
}

static void read_scores(tg_hf_reading *r, const struct kind *kind)
{
    static const char name[] = "query_pre_attn_scalar";
    tg_config *c = &r->f->config;
    double scalar;

    if (kind->query_scalar > 0 || kind->cap > 0)
        c->final_logit_softcapping = read_cap(r, "final_logit_softcapping", kind->cap);
    if (kind->query_scalar == 0)
        return;
    scalar = tg_hf_get_number(r, r->in, name, kind->query_scalar);
    if (scalar <= 0)
        tg_hf_refuse(r, name, "a number that is not above 0");
    else if (scalar != (double)c->head_dim)
        c->attn_scale = 1 / sqrt(scalar);
    c->attn_cap = read_cap(r, "attn_logit_softcapping", kind->attn_cap);
}

static void read_biases(tg_hf_reading *r, const struct kind *kind)
{
    tg_config *c = &r->f->config;
    const char *const key = kind->bias_key ? kind->bias_key : "attention_bias";
    const bool bias = tg_hf_get_bool(r, key, kind->bias);

    if (bias && !tg_config_has(c, TG_CONFIG_QKV_BIAS))
        tg_hf_refuse(r, key, "true");
    c->qkv_bias = kind->qkv_bias || bias;
    c->out_bias = !kind->qkv_bias && bias && tg_config_has(c, TG_CONFIG_OUT_BIAS);
    if (tg_config_has(c, TG_CONFIG_MLP_BIAS))
        c->mlp_bias = tg_hf_get_bool(r, "mlp_bias", false);
}

/* ---- the MLP, and what only Gemma has */

/* Gemma 1's "gelu" is an old name of the other kind of GELU; where both names of the member are there, their
 * values must be the same. */
static tg_activation read_gemma_activation(tg_hf_reading *r, bool first)
{
    static const char newer[] = "hidden_activation";
    tg_activation activation = TG_GELU_TANH;

    if (!first)
        return tg_hf_get_activation(r, newer, activation);
    activation = tg_hf_get_activation(r, "hidden_act", activation);
    if (activation == TG_GELU_ERF)
        activation = TG_GELU_TANH;
    if (tg_hf_get_activation(r, newer, activation) != activation)
        tg_hf_refuse(r, newer, "another value than that of \"hidden_act\"");
    return activation;
}

static void read_gemma(tg_hf_reading *r, const struct kind *kind)
{
    tg_config *c = &r->f->config;

    c->activation = read_gemma_activation(r, kind->query_scalar == 0);
    c->norm_offset = 1;
    c->embed_scale = sqrt((double)c->n_embd);
    if (tg_hf_get_bool(r, "use_bidirectional_attention", false))
        tg_hf_refuse(r, "use_bidirectional_attention", "true");
}

/* ---- rotation */

static void read_rotation(tg_hf_reading *r, const struct kind *kind)
{
    tg_config *c = &r->f->config;
    const char *const key = kind->rotated_key;
    const size_t width = c->n_head > 0 ? tg_config_head_dim(c) : 0;
    double part = tg_hf_get_number(r, r->in, key ? key : PARTLY, key ? kind->rotated : 1);
    size_t rotated;

    tg_hf_read_rotation(r, kind->theta_key ? kind->theta_key : "rope_theta", kind->theta, kind->local_theta,
                        &part);
    if (!key) {
        if (part != 1)
            tg_hf_refuse(r, PARTLY, "a rotation of part of a head");
        return;
    }
    rotated = part > 0 && part <= 1 ? (size_t)((double)width * part) : 0;
    c->rope_dim = rotated == width ? 0 : rotated; /* 0: all, as in the presets */
    if (rotated == 0)
        tg_hf_refuse(r, key, "a rotation of no channel, or of more than a head has,");
}

/* ---- what else a block may be */

static void check_heads(tg_hf_reading *r)
{
    const tg_config *c = &r->f->config;

    if (!r->j.status && tg_config_has(c, TG_CONFIG_N_KV_HEAD) && c->n_head > 0 &&
        (c->n_kv_head == 0 || c->n_head % c->n_kv_head != 0))
        r->j.status =
            tg_fail(r->j.err, TG_EDATA, "\"" KV_HEADS "\" is %zu, expected a divisor of \"" HEADS "\", %zu",
                    c->n_kv_head, c->n_head);
}

static void check_block(tg_hf_reading *r, const struct kind *kind)
{
    static const char order[] = "use_parallel_residual", norms[] = "qk_layernorm";

    if (kind->order == NOT_SAID)
        return;
    if (tg_hf_get_bool(r, order, kind->order == PARALLEL) != (kind->order == PARALLEL))
        tg_hf_refuse(r, order,
                     kind->order == PARALLEL ? "attention and MLP one after the other"
                                             : "attention and MLP side by side");
    if (tg_hf_get_bool(r, norms, false))
        tg_hf_refuse(r, norms, "a norm for each head of q and k");
}

/* ---- all of it */

/* Models of texts and images: the settings of the text's are in an object. */
static void enter_part(tg_hf_reading *r, const char *part)
{
    if (!tg_json_find(&r->j, 0, part)) {
        tg_hf_refuse_missing(r, part);
        return;
    }
    r->in = r->j.at;
    r->f->text_only = true;
    if (!r->j.status)
        r->j.status = tg_notes_add(&r->f->notes, r->j.err,
                                   "config.json is of a model of texts and images: only the former is used");
}

/* What comes from a member as it is; the bases of rotation are named where they are read. */
static void name_members(tg_hf_reading *r, const struct kind *kind)
{
    static const char *const names[TG_CONFIG_MEMBERS] = {
        [TG_CONFIG_N_LAYER] = "num_hidden_layers",
        [TG_CONFIG_N_HEAD] = HEADS,
        [TG_CONFIG_N_EMBD] = "hidden_size",
        [TG_CONFIG_N_CTX] = "max_position_embeddings",
        [TG_CONFIG_VOCAB_SIZE] = "vocab_size",
        [TG_CONFIG_N_KV_HEAD] = KV_HEADS,
        [TG_CONFIG_HEAD_DIM] = "head_dim",
        [TG_CONFIG_N_INNER] = "intermediate_size",
        [TG_CONFIG_ROPE_FACTOR] = "factor",
        [TG_CONFIG_ROPE_LOW_FREQ] = "low_freq_factor",
        [TG_CONFIG_ROPE_HIGH_FREQ] = "high_freq_factor",
        [TG_CONFIG_ROPE_CTX] = "original_max_position_embeddings",
        [TG_CONFIG_WINDOW] = "sliding_window",
        [TG_CONFIG_ATTN_CAP] = "attn_logit_softcapping",
        [TG_CONFIG_FINAL_LOGIT_SOFTCAPPING] = "final_logit_softcapping",
    };

    memcpy(r->member, names, sizeof names);
    r->member[TG_CONFIG_LAYER_NORM_EPSILON] = epsilon_of(kind);
}

void tg_hf_family_read(tg_hf_reading *r, size_t type)
{
    const struct kind *kind = &kinds[type];
    tg_config *c = &r->f->config;

    c->family = tg_family_number(kind->family);
    tg_config_neutral(c);
    name_members(r, kind);
    c->tied = tg_hf_get_bool(r, "tie_word_embeddings", kind->tied); /* of the whole */
    tg_hf_refuse_quantised(r);
    if (kind->part)
        enter_part(r, kind->part);
    read_sizes(r, kind);
    read_rotation(r, kind);
    if (kind->unrotated)
        tg_hf_read_unrotated(r);
    tg_hf_read_windows(r, kind->windows, kind->window);
    read_scores(r, kind);
    read_biases(r, kind);
    c->qk_norm = kind->qk_norm;
    if (kind->gemma)
        read_gemma(r, kind);
    else
        c->activation = tg_hf_get_activation(r, "hidden_act", kind->activation);
    check_heads(r);
    check_block(r, kind);
    r->f->config_known = ~(uint64_t)0;
}
