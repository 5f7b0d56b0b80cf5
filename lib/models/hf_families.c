/* Hugging Face's config.json of the families after GPT-2. */
#include "lib/models/hf_families.h"

#include <stdio.h>
#include <string.h>

#include "lib/gpt/family.h"

/* A number of the config: its name there, and what transformers assumes where it is missing or null. */
struct number {
    tg_config_id id;
    const char *name;
    double otherwise; /* REQUIRED: it must be there */
};
#define REQUIRED (-1.0)
#define NUMBERS 12

/* A family as Hugging Face calls it. */
struct kind {
    const char *type;   /* "model_type" */
    const char *family; /* ours */
    double epsilon;     /* defaults of its class */
    double theta;
    double head_dim; /* 0: hidden_size / num_attention_heads */
    bool tied;
    bool qkv_bias; /* whatever the config says */
    bool qk_norm;
    bool neox; /* LayerNorm, the exact GELU, a rotation of part of a head; keys of their own (read_neox()) */
};

static const struct kind kinds[] = {
    {.type = "llama", .family = "llama", .epsilon = 1e-6, .theta = 10000},
    {.type = "mistral", .family = "llama", .epsilon = 1e-6, .theta = 10000},
    {.type = "qwen2", .family = "qwen2", .epsilon = 1e-6, .theta = 10000, .qkv_bias = true},
    {.type = "qwen3", .family = "qwen3", .epsilon = 1e-6, .theta = 10000, .head_dim = 128, .qk_norm = true},
    {.type = "gpt_neox", .family = "gpt_neox", .epsilon = 1e-5, .theta = 10000, .neox = true},
};

struct reading {
    tg_model_file *f;
    const struct kind *kind;
    tg_json *j;
};

static double get_number(struct reading *r, size_t in, const char *name, double otherwise)
{
    if (tg_json_find(r->j, in, name))
        return tg_json_get_number(r->j);
    if (otherwise == REQUIRED && !r->j->status)
        r->j->status = tg_fail(r->j->err, TG_EDATA, "\"%s\" is missing", name);
    return otherwise;
}

static bool get_bool(struct reading *r, const char *name, bool otherwise)
{
    return tg_json_find(r->j, 0, name) ? tg_json_get_bool(r->j) : otherwise;
}

static void refuse(struct reading *r, const char *name, const char *what)
{
    if (!r->j->status)
        r->j->status = tg_fail(r->j->err, TG_EDATA, "\"%s\": %s is not supported", name, what);
}

/* A text, cut to what a message shows; "" if there is none. */
static void get_text(struct reading *r, size_t in, const char *name, char out[64])
{
    const tg_span text = tg_json_find(r->j, in, name) ? tg_json_get_text(r->j) : (tg_span){"", 0};

    snprintf(out, 64, "%.*s", (int)(text.n < 60 ? text.n : 60), text.p);
    for (char *p = out; *p; p++)
        if (*p < 0x20 || *p > 0x7E)
            *p = '?';
}

/* A size that is given as a number. */
static size_t get_size(struct reading *r, const char *name, size_t otherwise)
{
    if (tg_json_find(r->j, 0, name))
        return tg_json_get_size(r->j);
    if (otherwise == 0 && !r->j->status)
        r->j->status = tg_fail(r->j->err, TG_EDATA, "\"%s\" is missing", name);
    return otherwise;
}

static void read_sizes(struct reading *r)
{
    tg_config *c = &r->f->config;

    c->n_layer = get_size(r, "num_hidden_layers", 0);
    c->n_head = get_size(r, "num_attention_heads", 0);
    c->n_embd = get_size(r, "hidden_size", 0);
    c->n_inner = get_size(r, "intermediate_size", 0);
    c->vocab_size = get_size(r, "vocab_size", 0);
    c->n_ctx = get_size(r, "max_position_embeddings", 2048);
    c->n_kv_head = get_size(r, "num_key_value_heads", c->n_head);
    c->head_dim = r->kind->head_dim > 0 || c->n_head == 0 ? (size_t)r->kind->head_dim : c->n_embd / c->n_head;
    if (tg_json_find(r->j, 0, "head_dim"))
        c->head_dim = tg_json_get_size(r->j);
    c->layer_norm_epsilon = get_number(r, 0, "rms_norm_eps", r->kind->epsilon);
}

static void read_activation(struct reading *r)
{
    static const struct {
        const char *name;
        tg_activation kind;
    } known[] = {{"silu", TG_SILU},
                 {"swish", TG_SILU},
                 {"gelu_pytorch_tanh", TG_GELU_TANH},
                 {"gelu_new", TG_GELU_TANH},
                 {"gelu", TG_GELU_ERF}};
    char name[64], shown[68];

    get_text(r, 0, "hidden_act", name);
    if (name[0] == '\0')
        snprintf(name, sizeof name, "%s", r->kind->neox ? "gelu" : "silu");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0) {
            r->f->config.activation = known[i].kind;
            return;
        }
    snprintf(shown, sizeof shown, "\"%s\"", name);
    refuse(r, "hidden_act", shown);
}

/* ---- rotation */

/* The scaling in the object at `in`. */
static void read_scaling(struct reading *r, size_t in, const char *name)
{
    tg_config *c = &r->f->config;
    char type[64], shown[80];

    get_text(r, in, "rope_type", type);
    if (type[0] == '\0')
        get_text(r, in, "type", type);
    if (type[0] == '\0' || strcmp(type, "default") == 0)
        return;
    if (strcmp(type, "linear") == 0) {
        c->rope_scaling = TG_ROPE_LINEAR;
    } else if (strcmp(type, "llama3") == 0) {
        c->rope_scaling = TG_ROPE_LLAMA3;
        c->rope_low_freq = get_number(r, in, "low_freq_factor", REQUIRED);
        c->rope_high_freq = get_number(r, in, "high_freq_factor", REQUIRED);
        c->rope_ctx = (size_t)get_number(r, in, "original_max_position_embeddings", REQUIRED);
    } else {
        snprintf(shown, sizeof shown, "scaling \"%s\"", type);
        refuse(r, name, shown);
    }
    c->rope_factor = get_number(r, in, "factor", REQUIRED);
}

/* In files of transformers 5 one object has all; before, the base was a member of the config. */
static void read_rotation(struct reading *r)
{
    static const char *const objects[] = {"rope_scaling", "rope_parameters"};
    tg_config *c = &r->f->config;

    c->rope_theta = get_number(r, 0, r->kind->neox ? "rotary_emb_base" : "rope_theta", r->kind->theta);
    c->rope_factor = c->rope_low_freq = c->rope_high_freq = c->embed_scale = 1;
    c->rope_ctx = 1;
    for (size_t i = 0; i < 2; i++) {
        size_t at;

        if (!tg_json_find(r->j, 0, objects[i]))
            continue;
        at = r->j->at;
        c->rope_theta = get_number(r, at, "rope_theta", c->rope_theta);
        if (!r->kind->neox && get_number(r, at, "partial_rotary_factor", 1) != 1)
            refuse(r, objects[i], "a rotation of part of a head");
        read_scaling(r, at, objects[i]);
    }
}

/* ---- GPT-NeoX */

/* What of a head is rotated: like the base, a member of the config before transformers 5. */
static void read_part(struct reading *r)
{
    tg_config *c = &r->f->config;
    const size_t width = c->n_head > 0 ? c->n_embd / c->n_head : 0;
    double part = get_number(r, 0, "rotary_pct", 0.25);

    if (tg_json_find(r->j, 0, "rope_parameters"))
        part = get_number(r, r->j->at, "partial_rotary_factor", part);
    if (part > 0 && part <= 1)
        c->rope_dim = (size_t)((double)width * part);
    if (c->rope_dim == 0)
        refuse(r, "rotary_pct", "a rotation of no channel, or of more than a head has,");
}

static void read_neox(struct reading *r)
{
    tg_config *c = &r->f->config;

    c->n_kv_head = c->head_dim = 0; /* as many heads, of the width divided by them */
    c->layer_norm_epsilon = get_number(r, 0, "layer_norm_eps", r->kind->epsilon);
    c->qkv_bias = c->out_bias = get_bool(r, "attention_bias", true);
    read_part(r);
    if (!get_bool(r, "use_parallel_residual", true))
        refuse(r, "use_parallel_residual", "attention and MLP one after the other");
}

/* ---- what is refused, unless it makes no difference */

static void check_window(struct reading *r)
{
    const bool used = strncmp(r->kind->type, "qwen", 4) != 0 || get_bool(r, "use_sliding_window", false);

    if (used && tg_json_find(r->j, 0, "sliding_window") && tg_json_get_size(r->j) < r->f->config.n_ctx)
        refuse(r, "sliding_window", "a window shorter than the context");
}

const char *tg_hf_families(void)
{
    return "llama, mistral, qwen2, qwen3, gpt_neox";
}

static const struct kind *kind_of(const char *type)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strcmp(kinds[i].type, type) == 0)
            return &kinds[i];
    return NULL;
}

bool tg_hf_is_family(const char *type)
{
    return kind_of(type) != NULL;
}

static unsigned family_number(const char *name)
{
    unsigned i = 0;

    while (strcmp(tg_families[i]->name, name) != 0)
        i++;
    return i;
}

void tg_hf_family_read(tg_model_file *f, tg_json *j, const char *type)
{
    struct reading r = {f, kind_of(type), j};
    tg_config *c = &f->config;

    if (!r.kind)
        return;
    c->family = family_number(r.kind->family);
    read_sizes(&r);
    read_activation(&r);
    read_rotation(&r);
    check_window(&r);
    c->tied = get_bool(&r, "tie_word_embeddings", r.kind->tied);
    c->out_bias = get_bool(&r, "attention_bias", false);
    c->qkv_bias = r.kind->qkv_bias || c->out_bias;
    c->out_bias = c->out_bias && !r.kind->qkv_bias;
    c->mlp_bias = get_bool(&r, "mlp_bias", false);
    c->qk_norm = r.kind->qk_norm;
    if (r.kind->neox)
        read_neox(&r);
    if (tg_json_find(j, 0, "quantization_config"))
        refuse(&r, "quantization_config", "a quantised checkpoint");
    f->config_known = ~(uint64_t)0;
}
