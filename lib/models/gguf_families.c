/* GGUF's named values and tensors' names of the families after GPT-2. */
#include "lib/models/gguf_families.h"

#include <math.h>
#include <stdio.h>

#include "lib/gpt/family.h"
#include "lib/models/gguf_archs.h"
#include "lib/models/gguf_keys.h"

struct reading {
    tg_model_file *f;
    const tg_gguf_arch *kind;
    tg_gguf_keys k;
};

static bool has_tensor(const struct reading *r, const char *name)
{
    return tg_tensor_list_find(&r->f->file[0]->list, name) != NULL;
}

/* ---- what is refused, unless it makes no difference */

static void check_features(struct reading *r)
{
    static const char parallel[] = "use_parallel_residual";
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
        {"embedding_scale", 1, "scaled embeddings are not supported"},
        {"residual_scale", 1, "scaled residuals are not supported"},
        {"logit_scale", 1, "scaled logits are not supported"},
        {"rope.scaling.attn_factor", 1, "scaled attention is not supported"},
    };

    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++)
        if (tg_gguf_keys_number(&r->k, features[i].name, features[i].without) != features[i].without)
            tg_gguf_keys_refuse(&r->k, features[i].name, features[i].what);
    if (r->kind->parallel && tg_gguf_keys_number(&r->k, parallel, 1) != 1)
        tg_gguf_keys_refuse(&r->k, parallel, "attention and MLP one after the other are not supported");
    if (r->kind->serial && !has_tensor(r, "blk.0.ffn_norm.weight") && !r->k.g->status)
        r->k.g->status =
            tg_fail(r->k.g->err, TG_EDATA,
                    "blk.0.ffn_norm.weight is missing: attention and MLP side by side are not supported");
}

/* What Gemma 2's files may leave out is llama.cpp's; in other families there is none. */
static void read_cap(struct reading *r, double *cap, const char *name, double otherwise)
{
    const double got = tg_gguf_keys_real_or(&r->k, name, r->kind->capped ? otherwise : 0);

    if (got != 0 && !r->kind->capped)
        tg_gguf_keys_refuse(&r->k, name, "a cap is not supported");
    *cap = got;
}

#define WIDTH "the channels of a head"

/* ---- sizes */

/* How many channels of a head, 0 for all, as in the presets. */
static void read_rotated(struct reading *r, size_t width)
{
    static const char name[] = "rope.dimension_count";
    size_t rotated;

    if (!r->kind->partly) {
        tg_gguf_keys_check(&r->k, name, width, WIDTH);
        return;
    }
    rotated = tg_gguf_keys_size(&r->k, name);
    if (rotated == 0)
        tg_gguf_keys_refuse(&r->k, name, "a rotation of no channel is not supported");
    r->f->config.rope_dim = rotated == width ? 0 : rotated;
}

/* Heads of any width, or as wide as the model divided by them. */
static void read_heads(struct reading *r)
{
    tg_config *c = &r->f->config;
    size_t width;

    c->n_head = tg_gguf_keys_size(&r->k, "attention.head_count");
    if (c->n_head == 0 && !r->k.g->status)
        r->k.g->status = tg_fail(r->k.g->err, TG_EDATA, "%s is 0, expected at least 1", r->k.key);
    width = c->n_head > 0 ? c->n_embd / c->n_head : 0;
    if (tg_config_has(c, TG_CONFIG_N_KV_HEAD))
        c->n_kv_head = tg_gguf_keys_size_or(&r->k, "attention.head_count_kv", c->n_head);
    else
        tg_gguf_keys_check(&r->k, "attention.head_count_kv", c->n_head, "the number of heads");
    if (tg_config_has(c, TG_CONFIG_HEAD_DIM))
        width = c->head_dim = tg_gguf_keys_size_or(&r->k, "attention.key_length", width);
    else
        tg_gguf_keys_check(&r->k, "attention.key_length", width, WIDTH);
    tg_gguf_keys_check(&r->k, "attention.value_length", width, WIDTH);
    read_rotated(r, width);
}

static void read_sizes(struct reading *r)
{
    tg_config *c = &r->f->config;
    const tg_stored *tokens = tg_tensor_list_find(&r->f->file[0]->list, "token_embd.weight");

    c->n_layer = tg_gguf_keys_size(&r->k, "block_count");
    c->n_embd = tg_gguf_keys_size(&r->k, "embedding_length");
    c->n_ctx = tg_gguf_keys_size(&r->k, "context_length");
    c->n_inner = tg_gguf_keys_size(&r->k, "feed_forward_length");
    read_heads(r);
    c->layer_norm_epsilon =
        tg_gguf_shortest(tg_gguf_get_real(r->k.g, tg_gguf_keys_whole(&r->k, r->kind->epsilon)));
    if (tokens)
        c->vocab_size = tokens->array.shape[0];
    else if (!r->k.g->status)
        r->k.g->status = tg_fail(r->k.g->err, TG_EDATA, "token_embd.weight is missing");
}

/* ---- rotation */

/* Phi-3's for long texts: the divisors of which depend on the length. */
static void refuse_long(struct reading *r)
{
    static const char name[] = "rope_factors_long.weight";

    if (has_tensor(r, name) && !r->k.g->status)
        r->k.g->status = tg_fail(r->k.g->err, TG_EDATA, "%s: scaling \"longrope\" is not supported", name);
}

static void read_scaling(struct reading *r)
{
    tg_config *c = &r->f->config;
    const tg_stored *divisors = tg_tensor_list_find(&r->f->file[0]->list, TG_GGUF_DIVISORS);
    const bool given = tg_gguf_keys_have(&r->k, "rope.scaling.type");
    const tg_span type = given ? tg_gguf_get_text(r->k.g, r->k.key) : (tg_span){"linear", 6};
    const double factor = tg_gguf_keys_real_or(&r->k, "rope.scaling.factor",
                                               tg_gguf_keys_real_or(&r->k, "rope.scale_linear", 0));
    char shown[TG_SHOWN_MAX], text[TG_SHOWN_MAX + 40];

    if (!tg_span_is(type, "none") && !tg_span_is(type, "linear")) {
        snprintf(text, sizeof text, "scaling \"%s\" is not supported", tg_shown(shown, type));
        tg_gguf_keys_refuse(&r->k, "rope.scaling.type", text);
    }
    if (tg_span_is(type, "linear") && factor != 0) {
        c->rope_scaling = TG_ROPE_LINEAR;
        c->rope_factor = factor;
        if (divisors)
            tg_gguf_keys_refuse(&r->k, "rope.scaling.factor",
                                "linear scaling, and " TG_GGUF_DIVISORS " besides, are not supported");
    }
    if (divisors && !r->k.g->status)
        r->k.g->status = tg_gguf_read_divisors(c, divisors, r->k.g->err);
}

/* The file does not say them. */
static void read_unrotated(struct reading *r)
{
    tg_config *c = &r->f->config;

    for (size_t layer = 0; layer < c->n_layer && layer < TG_LAYERS_MAX; layer++)
        if (tg_gguf_arch_rotates(r->kind, layer))
            continue;
        else if (layer < TG_LAYER_BITS)
            c->unrotated_layers |= (uint64_t)1 << layer;
        else
            tg_gguf_keys_refuse(&r->k, "block_count",
                                "layers without rotation after layer 63 are not supported");
}

static void read_rotation(struct reading *r)
{
    tg_config *c = &r->f->config;

    c->rope_theta = tg_gguf_keys_real_or(&r->k, "rope.freq_base", 10000);
    refuse_long(r);
    read_scaling(r);
    read_unrotated(r);
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
    const size_t window = tg_gguf_keys_size_or(&r->k, "attention.sliding_window", r->kind->window);
    const tg_gguf_value *pattern = tg_gguf_find(r->k.g, tg_gguf_keys_whole(&r->k, pattern_key));
    size_t period = r->kind->windows;

    if (window == 0 || r->k.g->status)
        return;
    if (period == 0 && !r->kind->all_windows && window < c->n_ctx)
        tg_gguf_keys_refuse(&r->k, "attention.sliding_window",
                            "a window shorter than the context is not supported");
    if (pattern && pattern->array &&
        (pattern->type == TG_GGUF_TEXT || pattern->type == TG_GGUF_F32 || pattern->type == TG_GGUF_F64 ||
         pattern->n < c->n_layer))
        tg_gguf_keys_refuse(&r->k, pattern_key, "expected a truth for each layer");
    else if (pattern && !pattern->array)
        period = tg_gguf_keys_size(&r->k, pattern_key);
    if ((r->kind->windows == 0 && !r->kind->all_windows) || r->k.g->status)
        return;
    c->window = window;
    if (!r->kind->same_rotation || tg_gguf_keys_have(&r->k, "rope.freq_base_swa"))
        c->rope_local_theta = tg_gguf_keys_real_or(
            &r->k, "rope.freq_base_swa", r->kind->window_theta > 0 ? r->kind->window_theta : c->rope_theta);
    for (size_t layer = 0; layer < c->n_layer && layer < TG_LAYERS_MAX; layer++)
        if (has_window(pattern, period, layer) && layer < TG_LAYER_BITS)
            c->window_layers |= (uint64_t)1 << layer;
        else if (has_window(pattern, period, layer))
            tg_gguf_keys_refuse(&r->k, "attention.sliding_window",
                                "windows after layer 63 are not supported");
}

/* ---- the config */

static void read_biases(struct reading *r)
{
    tg_config *c = &r->f->config;

    c->qkv_bias = has_tensor(r, "blk.0.attn_q.bias") || has_tensor(r, "blk.0.attn_qkv.bias");
    c->out_bias = has_tensor(r, "blk.0.attn_output.bias");
    c->mlp_bias = tg_config_has(c, TG_CONFIG_MLP_BIAS) && has_tensor(r, "blk.0.ffn_up.bias");
}

void tg_gguf_family_read(tg_model_file *f, tg_gguf *g, tg_names *names)
{
    struct reading r = {f, tg_gguf_arch_named(tg_gguf_get_text(g, "general.architecture")), {.g = g}};
    tg_config *c = &f->config;

    if (!r.kind)
        return;
    r.k.architecture = r.kind->architecture;
    *names = *r.kind->names;
    names->family = names->what = r.kind->family;
    names->pairs = r.kind->pairs;
    c->family = tg_family_number(r.kind->family);
    tg_config_neutral(c);
    c->activation = r.kind->activation;
    c->qk_norm = r.kind->qk_norm;
    check_features(&r);
    read_cap(&r, &c->attn_cap, "attn_logit_softcapping", 50);
    read_cap(&r, &c->final_logit_softcapping, "final_logit_softcapping", 30);
    read_sizes(&r);
    read_rotation(&r);
    read_windows(&r);
    read_biases(&r);
    /* the norms of Gemma's files have 1 added: norm_offset is 0 */
    c->attn_scale = tg_gguf_arch_scale(r.kind, c);
    if (r.kind->scaled)
        c->embed_scale = sqrt((double)c->n_embd);
    f->config_known = ~TG_CONFIG_BIT(TG_CONFIG_TIED);
}
