/* GGUF's named values and tensors' names of the families after GPT-2. */
#include "lib/models/gguf_families.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gpt/family.h"

#define DIVISORS "rope_freqs.weight"

/* ---- the families */

#define EPSILON_RMS "attention.layer_norm_rms_epsilon"

/* A family as llama.cpp calls it, and what its files do not say. */
static const struct kind {
    const char *architecture;
    const char *family; /* ours */
    const char *epsilon;
    tg_activation activation;
    bool pairs; /* its converter turns the rows of q and k */
    bool qk_norm;
    bool scaled;         /* the vectors of tokens, by sqrt(C) */
    bool partly;         /* rotated: rope.dimension_count channels */
    size_t windows;      /* of so many layers all but the last have the window; 0: none has */
    double window_theta; /* the base of these; 0: of all layers */
    size_t wide_scale;   /* layers of the one size whose scores are divided by sqrt(C / H), not sqrt(D) */
    const tg_names *names;
} kinds[] = {
#define GATED .epsilon = EPSILON_RMS, .names = &tg_names_gguf_gated
    {"llama", "llama", GATED, .activation = TG_SILU, .pairs = true},
    {"qwen2", "qwen2", GATED, .activation = TG_SILU},
    {"qwen3", "qwen3", GATED, .activation = TG_SILU, .qk_norm = true},
    {"gemma", "gemma", GATED, .activation = TG_GELU_TANH, .scaled = true},
    {"gemma3", "gemma3", GATED, .activation = TG_GELU_TANH, .scaled = true, .qk_norm = true, .windows = 6,
     .window_theta = 10000, .wide_scale = 62},
    {"olmo2", "olmo2", GATED, .activation = TG_SILU, .qk_norm = true, .windows = 4},
    /* transformers computes the exact GELU, llama.cpp the other form */
    {"gptneox", "gpt_neox", .names = &tg_names_gguf_neox, .epsilon = "attention.layer_norm_epsilon",
     .activation = TG_GELU_ERF, .partly = true},
};

static const struct kind *kind_of(tg_span architecture)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (tg_span_is(architecture, kinds[i].architecture))
            return &kinds[i];
    return NULL;
}

bool tg_gguf_is_family(tg_span architecture)
{
    return kind_of(architecture) != NULL;
}

const char *tg_gguf_families(void)
{
    return "llama, qwen2, qwen3, gemma, gemma3, olmo2, gptneox";
}

static unsigned family_number(const char *name)
{
    unsigned i = 0;

    while (strcmp(tg_families[i]->name, name) != 0)
        i++;
    return i;
}

/* ---- named values */

struct reading {
    tg_model_file *f;
    tg_gguf *g;
    const struct kind *kind;
    char key[96]; /* of the value that was asked for last */
};

/* The whole key: "llama.block_count". */
static const char *key_of(struct reading *r, const char *name)
{
    snprintf(r->key, sizeof r->key, "%s.%s", r->kind->architecture, name);
    return r->key;
}

static bool has(struct reading *r, const char *name)
{
    return tg_gguf_find(r->g, key_of(r, name)) != NULL;
}

static bool has_tensor(const struct reading *r, const char *name)
{
    return tg_tensor_list_find(&r->f->file[0]->list, name) != NULL;
}

static size_t get_size(struct reading *r, const char *name)
{
    return tg_gguf_get_size(r->g, key_of(r, name));
}

static size_t get_size_or(struct reading *r, const char *name, size_t otherwise)
{
    return has(r, name) ? get_size(r, name) : otherwise;
}

double tg_gguf_shortest(double x)
{
    char text[32];
    double y = x;

    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        y = strtod(text, NULL);
        if ((float)y == (float)x)
            break;
    }
    return y;
}

static double get_real_or(struct reading *r, const char *name, double otherwise)
{
    return has(r, name) ? tg_gguf_shortest(tg_gguf_get_real(r->g, r->key)) : otherwise;
}

static void refuse(struct reading *r, const char *name, const char *what)
{
    if (!r->g->status)
        r->g->status = tg_fail(r->g->err, TG_EDATA, "%s: %s", key_of(r, name), what);
}

/* ---- what is refused, unless it makes no difference */

/* A value of any type that counts or measures something, or says yes or no. */
static double get_any(struct reading *r, const char *name, double otherwise)
{
    const tg_gguf_value *v = tg_gguf_find(r->g, key_of(r, name));

    if (!v)
        return otherwise;
    if (v->array || v->type == TG_GGUF_TEXT)
        refuse(r, name, "expected a number");
    else
        return v->type == TG_GGUF_F32 || v->type == TG_GGUF_F64 ? tg_gguf_real(v, 0)
                                                                : (double)tg_gguf_integer(v, 0);
    return otherwise;
}

static void check_features(struct reading *r)
{
    static const struct {
        const char *name;
        double without;
        const char *what;
    } features[] = {
        {"expert_count", 0, "a mixture of experts is not supported"},
        {"nextn_predict_layers", 0, "layers that predict further tokens are not supported"},
        {"attention.causal", 1, "attention to later tokens is not supported"},
        {"attention.clamp_kqv", 0, "clipped queries, keys and values are not supported"},
        {"attention.max_alibi_bias", 0, "ALiBi is not supported"},
        {"attention.scale", 0, "another scale of scores is not supported"},
        {"attn_logit_softcapping", 0, "a cap of scores is not supported"},
        {"final_logit_softcapping", 0, "a cap of logits is not supported"},
        {"embedding_scale", 1, "scaled embeddings are not supported"},
        {"residual_scale", 1, "scaled residuals are not supported"},
        {"logit_scale", 1, "scaled logits are not supported"},
        {"use_parallel_residual", 1, "attention and MLP one after the other are not supported"},
        {"rope.scaling.attn_factor", 1, "scaled attention is not supported"},
    };

    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
        if (get_any(r, features[i].name, features[i].without) != features[i].without)
            refuse(r, features[i].name, features[i].what);
}

/* A number that follows from the others, if the file has it. */
static void check_size(struct reading *r, const char *name, size_t want)
{
    const size_t got = get_size_or(r, name, want);

    if (!r->g->status && got != want)
        r->g->status = tg_fail(r->g->err, TG_EDATA, "%s is %zu, expected %zu, the channels of a head",
                               key_of(r, name), got, want);
}

/* ---- sizes */

static void read_sizes(struct reading *r)
{
    tg_config *c = &r->f->config;
    const tg_stored *tokens = tg_tensor_list_find(&r->f->file[0]->list, "token_embd.weight");

    c->n_layer = get_size(r, "block_count");
    c->n_head = get_size(r, "attention.head_count");
    c->n_embd = get_size(r, "embedding_length");
    c->n_ctx = get_size(r, "context_length");
    c->n_inner = get_size(r, "feed_forward_length");
    c->n_kv_head = get_size_or(r, "attention.head_count_kv", c->n_head);
    c->head_dim = get_size_or(r, "attention.key_length", c->n_head > 0 ? c->n_embd / c->n_head : 0);
    check_size(r, "attention.value_length", c->head_dim);
    c->layer_norm_epsilon = tg_gguf_shortest(tg_gguf_get_real(r->g, key_of(r, r->kind->epsilon)));
    if (tokens)
        c->vocab_size = tokens->array.shape[0];
    else if (!r->g->status)
        r->g->status = tg_fail(r->g->err, TG_EDATA, "token_embd.weight is missing");
}

/* ---- rotation */

static void read_scaling(struct reading *r)
{
    tg_config *c = &r->f->config;
    const tg_stored *divisors = tg_tensor_list_find(&r->f->file[0]->list, DIVISORS);
    const bool given = has(r, "rope.scaling.type");
    const tg_span type = given ? tg_gguf_get_text(r->g, r->key) : (tg_span){"linear", 6};
    const double factor = get_real_or(r, "rope.scaling.factor", get_real_or(r, "rope.scale_linear", 0));
    char shown[TG_SHOWN_MAX], text[TG_SHOWN_MAX + 40];

    if (!tg_span_is(type, "none") && !tg_span_is(type, "linear")) {
        snprintf(text, sizeof text, "scaling \"%s\" is not supported", tg_shown(shown, type));
        refuse(r, "rope.scaling.type", text);
    }
    if (tg_span_is(type, "linear") && factor != 0) {
        c->rope_scaling = TG_ROPE_LINEAR;
        c->rope_factor = factor;
        if (divisors)
            refuse(r, "rope.scaling.factor", "linear scaling, and " DIVISORS " besides, are not supported");
    }
    if (divisors && !r->g->status)
        r->g->status = tg_gguf_read_divisors(c, divisors, r->g->err);
}

static void read_rotation(struct reading *r)
{
    tg_config *c = &r->f->config;

    c->rope_theta = get_real_or(r, "rope.freq_base", 10000);
    c->rope_factor = c->rope_low_freq = c->rope_high_freq = 1;
    c->rope_ctx = 1;
    if (r->kind->partly)
        c->rope_dim = get_size(r, "rope.dimension_count");
    else
        check_size(r, "rope.dimension_count", c->head_dim);
    read_scaling(r);
}

/* ---- windows */

/* Whether a layer has the window: a truth for each layer, or of so many layers all but the last. */
static bool has_window(const tg_gguf_value *pattern, size_t period, size_t layer)
{
    if (pattern && pattern->array)
        return layer < pattern->n && tg_gguf_integer(pattern, layer) != 0;
    return period == 0 || layer % period < period - 1;
}

static void read_windows(struct reading *r)
{
    static const char pattern_key[] = "attention.sliding_window_pattern";
    tg_config *c = &r->f->config;
    const size_t window = get_size_or(r, "attention.sliding_window", 0);
    const tg_gguf_value *pattern = tg_gguf_find(r->g, key_of(r, pattern_key));
    size_t period = r->kind->windows;

    if (window == 0 || r->g->status)
        return;
    if (period == 0 && window < c->n_ctx)
        refuse(r, "attention.sliding_window", "a window shorter than the context is not supported");
    if (pattern && pattern->array &&
        (pattern->type == TG_GGUF_TEXT || pattern->type == TG_GGUF_F32 || pattern->type == TG_GGUF_F64 ||
         pattern->n < c->n_layer))
        refuse(r, pattern_key, "expected a truth for each layer");
    else if (pattern && !pattern->array)
        period = get_size(r, pattern_key);
    if (r->kind->windows == 0 || r->g->status)
        return;
    c->window = window;
    c->rope_local_theta = get_real_or(r, "rope.freq_base_swa",
                                      r->kind->window_theta > 0 ? r->kind->window_theta : c->rope_theta);
    for (size_t layer = 0; layer < c->n_layer && layer < TG_LAYERS_MAX; layer++)
        if (has_window(pattern, period, layer) && layer < 64)
            c->window_layers |= (uint64_t)1 << layer;
        else if (has_window(pattern, period, layer))
            refuse(r, "attention.sliding_window", "windows after layer 63 are not supported");
}

/* ---- the config */

static void read_biases(struct reading *r)
{
    tg_config *c = &r->f->config;

    c->qkv_bias = has_tensor(r, "blk.0.attn_q.bias") || has_tensor(r, "blk.0.attn_qkv.bias");
    c->out_bias = has_tensor(r, "blk.0.attn_output.bias");
    c->mlp_bias = has_tensor(r, "blk.0.ffn_up.bias");
}

void tg_gguf_family_read(tg_model_file *f, tg_gguf *g, tg_names *names)
{
    struct reading r = {f, g, kind_of(tg_gguf_get_text(g, "general.architecture")), ""};
    tg_config *c = &f->config;

    if (!r.kind)
        return;
    *names = *r.kind->names;
    names->family = names->what = r.kind->family;
    names->pairs = r.kind->pairs;
    c->family = family_number(r.kind->family);
    c->activation = r.kind->activation;
    c->qk_norm = r.kind->qk_norm;
    check_features(&r);
    read_sizes(&r);
    read_rotation(&r);
    read_windows(&r);
    read_biases(&r);
    /* the norms of Gemma's files have 1 added: norm_offset is 0 */
    if (r.kind->wide_scale > 0 && c->n_layer == r.kind->wide_scale && c->n_head > 0)
        c->attn_scale = 1 / sqrt((double)(c->n_embd / c->n_head));
    c->embed_scale = r.kind->scaled ? sqrt((double)c->n_embd) : 1;
    f->config_known = ~TG_CONFIG_BIT(TG_CONFIG_TIED);
}
