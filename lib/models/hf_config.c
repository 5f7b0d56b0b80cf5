/* Hugging Face's config.json. */
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "formats/sink.h"
#include "lib/base/decimal.h"
#include "lib/models/hf.h"

/* ---- reading */

/* What is read of it; GPT2Config's attribute_map gives some members a second name. */
enum member {
    MODEL_TYPE,
    ARCHITECTURES,
    N_LAYER,
    N_HEAD,
    N_EMBD,
    N_POSITIONS,
    N_CTX,
    VOCAB_SIZE,
    N_INNER,
    ACTIVATION,
    EPSILON,
    TIED,
    SCALED,
    BY_LAYER,
    UPCAST,
    CROSS,
    PRUNED,
    QUANTIZED,
    LAYER_ALIAS,
    HEAD_ALIAS,
    EMBD_ALIAS,
    POSITIONS_ALIAS,
    BOS,
    EOS,
    MEMBERS
};

static const char *const names[MEMBERS] = {
    [MODEL_TYPE] = "model_type",
    [ARCHITECTURES] = "architectures",
    [N_LAYER] = "n_layer",
    [N_HEAD] = "n_head",
    [N_EMBD] = "n_embd",
    [N_POSITIONS] = "n_positions",
    [N_CTX] = "n_ctx",
    [VOCAB_SIZE] = "vocab_size",
    [N_INNER] = "n_inner",
    [ACTIVATION] = "activation_function",
    [EPSILON] = "layer_norm_epsilon",
    [TIED] = "tie_word_embeddings",
    [SCALED] = "scale_attn_weights",
    [BY_LAYER] = "scale_attn_by_inverse_layer_idx",
    [UPCAST] = "reorder_and_upcast_attn",
    [CROSS] = "add_cross_attention",
    [PRUNED] = "pruned_heads",
    [QUANTIZED] = "quantization_config",
    [LAYER_ALIAS] = "num_hidden_layers",
    [HEAD_ALIAS] = "num_attention_heads",
    [EMBD_ALIAS] = "hidden_size",
    [POSITIONS_ALIAS] = "max_position_embeddings",
    [BOS] = "bos_token_id",
    [EOS] = "eos_token_id",
};

struct reading {
    tg_model_file *f;
    const tg_model_ask *ask;
    tg_json j;
    size_t at[MEMBERS]; /* 0: not there, or null */
};

/* The reader's failures are kept in j, and others with them. */
static void refuse(struct reading *r, enum member m, const char *value)
{
    if (!r->j.status)
        r->j.status = tg_fail(r->j.err, TG_EDATA, "\"%s\": %s is not supported", names[m], value);
}

/* Go to the value of a member, by either name.  False: there is none. */
static bool find(struct reading *r, enum member m, enum member alias)
{
    const size_t at = r->at[m] ? r->at[m] : r->at[alias];

    (void)tg_json_go(&r->j, at);
    return at > 0;
}

static size_t get_size(struct reading *r, enum member m, enum member alias, size_t otherwise)
{
    return find(r, m, alias) ? tg_json_get_size(&r->j) : otherwise;
}

static bool get_bool(struct reading *r, enum member m, bool otherwise)
{
    return find(r, m, m) ? tg_json_get_bool(&r->j) : otherwise;
}

/* A text, cut to what a message shows; "" if there is none. */
static void get_text(struct reading *r, char out[64], enum member m)
{
    const tg_span text = find(r, m, m) ? tg_json_get_text(&r->j) : (tg_span){"", 0};

    snprintf(out, 64, "%.*s", (int)(text.n < 60 ? text.n : 60), text.p);
    for (char *p = out; *p; p++)
        if (*p < 0x20 || *p > 0x7E)
            *p = '?';
}

static void check_type(struct reading *r)
{
    char type[64];

    get_text(r, type, MODEL_TYPE);
    if (r->j.status || strcmp(type, "gpt2") == 0)
        return;
    r->j.status = type[0] == '\0'
                      ? tg_fail(r->j.err, TG_EDATA, "there is no \"model_type\": expected \"gpt2\"")
                      : tg_fail(r->j.err, TG_EDATA, "\"model_type\" is \"%s\", expected \"gpt2\"", type);
}

static void check_architectures(struct reading *r)
{
    tg_json *const j = &r->j;

    if (!find(r, ARCHITECTURES, ARCHITECTURES))
        return;
    tg_json_enter(j, TG_JSON_ARRAY);
    while (tg_json_element(j)) {
        const tg_span text = tg_json_get_text(j);
        const int n = (int)(text.n < 60 ? text.n : 60);

        if (j->status || tg_span_is(text, "GPT2LMHeadModel") || tg_span_is(text, "GPT2Model"))
            continue;
        if (r->ask->lossy)
            j->status = tg_notes_add(&r->f->notes, j->err,
                                     "config.json is of a \"%.*s\": only its GPT-2 is used", n, text.p);
        else
            (void)tg_json_fail(
                j, "the architecture is \"%.*s\", expected \"GPT2LMHeadModel\" or \"GPT2Model\"", n, text.p);
    }
}

static void check_features(struct reading *r)
{
    tg_json *const j = &r->j;
    const bool scaled = get_bool(r, SCALED, true), by_layer = get_bool(r, BY_LAYER, false),
               upcast = get_bool(r, UPCAST, false), cross = get_bool(r, CROSS, false);

    if (find(r, PRUNED, PRUNED)) { /* heads that were cut off: an object, by layer */
        tg_json_enter(j, TG_JSON_OBJECT);
        if (tg_json_key(j, NULL))
            refuse(r, PRUNED, "a layer without some of its heads");
    }
    if (!scaled)
        refuse(r, SCALED, "false (scores that are not divided by the root of the head's width)");
    if (by_layer)
        refuse(r, BY_LAYER, "true (scores divided by the layer's number)");
    if (cross)
        refuse(r, CROSS, "true");
    if (r->at[QUANTIZED])
        refuse(r, QUANTIZED, "a quantised checkpoint");
    if (upcast && !j->status)
        j->status = tg_notes_add(
            &r->f->notes, j->err,
            "\"%s\" concerns only the order of float32 operations: it changes nothing here", names[UPCAST]);
}

static void read_activation(struct reading *r)
{
    static const struct {
        const char *name;
        tg_gelu_kind kind;
    } known[] = {{"gelu_new", TG_GELU_TANH},
                 {"gelu_pytorch_tanh", TG_GELU_TANH},
                 {"gelu", TG_GELU_ERF},
                 {"gelu_python", TG_GELU_ERF},
                 {"", TG_GELU_TANH}};
    char name[64], shown[68];

    get_text(r, name, ACTIVATION);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0) {
            r->f->config.activation = known[i].kind;
            return;
        }
    snprintf(shown, sizeof shown, "\"%s\"", name);
    refuse(r, ACTIVATION, shown);
}

/* With GPT2Config's defaults. */
static void read_sizes(struct reading *r)
{
    tg_config *c = &r->f->config;
    size_t inner;

    c->n_layer = get_size(r, N_LAYER, LAYER_ALIAS, 12);
    c->n_head = get_size(r, N_HEAD, HEAD_ALIAS, 12);
    c->n_embd = get_size(r, N_EMBD, EMBD_ALIAS, 768);
    c->n_ctx = get_size(r, N_CTX, N_CTX, 1024);
    c->n_ctx = get_size(r, N_POSITIONS, POSITIONS_ALIAS, c->n_ctx);
    c->vocab_size = get_size(r, VOCAB_SIZE, VOCAB_SIZE, 50257);
    inner = get_size(r, N_INNER, N_INNER, 0);
    if (!r->j.status && r->at[N_INNER] && (inner / 4 != c->n_embd || inner % 4 != 0))
        r->j.status =
            tg_fail(r->j.err, TG_EDATA, "\"n_inner\" is %zu, expected 4 n_embd = 4 * %zu", inner, c->n_embd);
}

/* The token that begins or ends a text.  Some models have several, of which none is kept. */
static void read_end(struct reading *r, size_t *token, enum member m)
{
    size_t id;

    if (r->j.status || !find(r, m, m))
        return;
    id = tg_json_get_size(&r->j);
    if (r->j.status)
        r->j.status = tg_notes_add(&r->f->notes, r->j.err, "\"%s\" is not one id, and is left out", names[m]);
    else
        *token = id < r->f->config.vocab_size ? id + 1 : 0; /* otherwise the default of some program */
}

tg_status tg_hf_config_read(tg_model_file *f, const void *text, size_t n, const tg_model_ask *ask,
                            tg_err *err)
{
    static const tg_config_id known[] = {
        TG_CONFIG_N_LAYER,    TG_CONFIG_N_HEAD,     TG_CONFIG_N_EMBD, TG_CONFIG_N_CTX,
        TG_CONFIG_VOCAB_SIZE, TG_CONFIG_ACTIVATION, TG_CONFIG_TIED,   TG_CONFIG_LAYER_NORM_EPSILON};
    struct reading r = {.f = f, .ask = ask};

    tg_json_open(&r.j, text, n, err);
    tg_json_members(&r.j, names, MEMBERS, r.at);
    tg_json_end(&r.j);
    check_type(&r);
    check_architectures(&r);
    check_features(&r);
    read_sizes(&r);
    read_activation(&r);
    f->config.layer_norm_epsilon = find(&r, EPSILON, EPSILON) ? tg_json_get_number(&r.j) : 1e-5;
    read_end(&r, &f->config.bos_token, BOS);
    read_end(&r, &f->config.eos_token, EOS);
    f->config.tied = get_bool(&r, TIED, true);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        tg_config_set_known(f, known[i]);
    return tg_json_close(&r.j);
}

/* ---- writing */

/* The id of what begins or ends a text, or null. */
static void end_text(char text[16], const tg_model_file *f, size_t token)
{
    if (token == 0 && f->tokenizer)
        token = (size_t)(tg_tokenizer_end_of_text(f->tokenizer) + 1);
    if (token > 0)
        snprintf(text, 16, "%d", (int)(token - 1));
    else
        snprintf(text, 16, "null");
}

tg_status tg_hf_config_write(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    static const char *const types[TG_WRITE_TYPES] = {"float32", "float16", "bfloat16", "float32"};
    const tg_config *c = &f->config;
    char text[2048], bos[16], eos[16], epsilon[TG_DECIMAL_SIZE];
    int n;

    *tg_decimal_general(epsilon, 17, c->layer_norm_epsilon) = '\0';
    end_text(bos, f, c->bos_token);
    end_text(eos, f, c->eos_token);
    n = snprintf(text, sizeof text,
                 "{\n"
                 "  \"architectures\": [\n    \"GPT2LMHeadModel\"\n  ],\n"
                 "  \"model_type\": \"gpt2\",\n"
                 "  \"vocab_size\": %zu,\n"
                 "  \"n_positions\": %zu,\n"
                 "  \"n_ctx\": %zu,\n"
                 "  \"n_embd\": %zu,\n"
                 "  \"n_layer\": %zu,\n"
                 "  \"n_head\": %zu,\n"
                 "  \"n_inner\": null,\n"
                 "  \"activation_function\": \"%s\",\n"
                 "  \"layer_norm_epsilon\": %s,\n"
                 "  \"tie_word_embeddings\": %s,\n"
                 "  \"scale_attn_weights\": true,\n"
                 "  \"scale_attn_by_inverse_layer_idx\": false,\n"
                 "  \"reorder_and_upcast_attn\": false,\n"
                 "  \"resid_pdrop\": 0.0,\n"
                 "  \"embd_pdrop\": 0.0,\n"
                 "  \"attn_pdrop\": 0.0,\n"
                 "  \"initializer_range\": 0.02,\n"
                 "  \"bos_token_id\": %s,\n"
                 "  \"eos_token_id\": %s,\n"
                 "  \"torch_dtype\": \"%s\"\n"
                 "}\n",
                 c->vocab_size, c->n_ctx, c->n_ctx, c->n_embd, c->n_layer, c->n_head,
                 c->activation == TG_GELU_TANH ? "gelu_new" : "gelu", epsilon, c->tied ? "true" : "false",
                 bos, eos, types[o->type]);
    return tg_write_all(fd, text, (size_t)n, err);
}
