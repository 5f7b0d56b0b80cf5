/* Hugging Face's config.json. */
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "formats/sink.h"
#include "lib/base/decimal.h"
#include "lib/checkpoint/hf.h"

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

static tg_status refuse(const struct reading *r, enum member m, const char *value, tg_err *err)
{
    (void)r;
    return tg_fail(err, TG_EDATA, "\"%s\": %s is not supported", names[m], value);
}

/* A size, by either name; `otherwise` if there is none. */
static tg_status get_size(struct reading *r, size_t *size, enum member m, enum member alias, size_t otherwise,
                          tg_err *err)
{
    const size_t at = r->at[m] ? r->at[m] : r->at[alias];
    tg_json value;
    tg_status status;

    *size = otherwise;
    if (at == 0)
        return TG_OK;
    tg_json_open_at(&value, &r->j, at);
    status = tg_json_get_size(&value, size, err);
    tg_json_close(&value);
    return status;
}

static tg_status get_bool(struct reading *r, bool *truth, enum member m, bool otherwise, tg_err *err)
{
    tg_json value;
    tg_status status;

    *truth = otherwise;
    if (r->at[m] == 0)
        return TG_OK;
    tg_json_open_at(&value, &r->j, r->at[m]);
    status = tg_json_get_bool(&value, truth, err);
    tg_json_close(&value);
    return status;
}

/* A text, cut to what a message shows; "" if there is none. */
static tg_status get_text(struct reading *r, char out[64], enum member m, tg_err *err)
{
    tg_json value;
    tg_json_text text;
    tg_status status;

    out[0] = '\0';
    if (r->at[m] == 0)
        return TG_OK;
    tg_json_open_at(&value, &r->j, r->at[m]);
    if (!(status = tg_json_get_text(&value, &text, err)))
        snprintf(out, 64, "%.*s", (int)(text.n < 60 ? text.n : 60), text.p);
    tg_json_close(&value);
    for (char *p = out; *p; p++)
        if (*p < 0x20 || *p > 0x7E)
            *p = '?';
    return status;
}

static tg_status check_type(struct reading *r, tg_err *err)
{
    char type[64];
    tg_status status = get_text(r, type, MODEL_TYPE, err);

    if (status || strcmp(type, "gpt2") == 0)
        return status;
    if (type[0] == '\0')
        return tg_fail(err, TG_EDATA, "there is no \"model_type\": expected \"gpt2\"");
    return tg_fail(err, TG_EDATA, "\"model_type\" is \"%s\", expected \"gpt2\"", type);
}

static tg_status check_architecture(struct reading *r, tg_json *list, tg_err *err)
{
    static const char *const known[] = {"GPT2LMHeadModel", "GPT2Model", NULL};
    tg_json_text text;
    size_t i = 0;
    tg_status status = tg_json_get_text(list, &text, err);

    if (status)
        return status;
    while (known[i] && !tg_json_is(text, known[i]))
        i++;
    if (known[i])
        return TG_OK;
    if (r->ask->lossy)
        return tg_notes_add(&r->f->notes, err, "config.json is of a \"%.*s\": only its GPT-2 is used",
                            (int)(text.n < 60 ? text.n : 60), text.p);
    return tg_json_fail(list, err,
                        "the architecture is \"%.*s\", expected \"GPT2LMHeadModel\" or \"GPT2Model\"",
                        (int)(text.n < 60 ? text.n : 60), text.p);
}

static tg_status check_architectures(struct reading *r, tg_err *err)
{
    tg_json list;
    bool more;
    tg_status status;

    if (r->at[ARCHITECTURES] == 0)
        return TG_OK;
    tg_json_open_at(&list, &r->j, r->at[ARCHITECTURES]);
    status = tg_json_enter(&list, TG_JSON_ARRAY, err);
    /* unreached: an element that fails: tg_json_members() has passed the array */
    while (!status && !(status = tg_json_element(&list, &more, err)) && more)
        status = check_architecture(r, &list, err);
    tg_json_close(&list);
    return status;
}

/* Heads that were cut off: an object, by layer. */
static tg_status check_pruned(struct reading *r, tg_err *err)
{
    tg_json object;
    tg_json_text key;
    bool more;
    tg_status status;

    if (r->at[PRUNED] == 0)
        return TG_OK;
    tg_json_open_at(&object, &r->j, r->at[PRUNED]);
    if (!(status = tg_json_enter(&object, TG_JSON_OBJECT, err)) &&
        /* unreached: a key that fails: tg_json_members() has passed the object */
        !(status = tg_json_key(&object, &key, &more, err)) && more)
        status = refuse(r, PRUNED, "a layer without some of its heads", err);
    tg_json_close(&object);
    return status;
}

static tg_status check_features(struct reading *r, tg_err *err)
{
    bool scaled, by_layer, upcast, cross;
    tg_status status;

    if ((status = get_bool(r, &scaled, SCALED, true, err)) ||
        (status = get_bool(r, &by_layer, BY_LAYER, false, err)) ||
        (status = get_bool(r, &upcast, UPCAST, false, err)) ||
        (status = get_bool(r, &cross, CROSS, false, err)) || (status = check_pruned(r, err)))
        return status;
    if (!scaled)
        return refuse(r, SCALED, "false (scores that are not divided by the root of the head's width)", err);
    if (by_layer)
        return refuse(r, BY_LAYER, "true (scores divided by the layer's number)", err);
    if (cross)
        return refuse(r, CROSS, "true", err);
    if (r->at[QUANTIZED])
        return refuse(r, QUANTIZED, "a quantised checkpoint", err);
    if (upcast)
        return tg_notes_add(&r->f->notes, err,
                            "\"%s\" concerns only the order of float32 operations: it changes nothing here",
                            names[UPCAST]);
    return TG_OK;
}

static tg_status read_activation(struct reading *r, tg_err *err)
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
    tg_status status = get_text(r, name, ACTIVATION, err);

    if (status)
        return status;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0) {
            r->f->config.activation = known[i].kind;
            tg_config_tell(r->f, TG_CONFIG_ACTIVATION);
            return TG_OK;
        }
    snprintf(shown, sizeof shown, "\"%s\"", name);
    return refuse(r, ACTIVATION, shown, err);
}

static tg_status read_epsilon(struct reading *r, tg_err *err)
{
    tg_json value;
    tg_status status;

    r->f->config.layer_norm_epsilon = 1e-5;
    tg_config_tell(r->f, TG_CONFIG_LAYER_NORM_EPSILON);
    if (r->at[EPSILON] == 0)
        return TG_OK;
    tg_json_open_at(&value, &r->j, r->at[EPSILON]);
    status = tg_json_get_number(&value, &r->f->config.layer_norm_epsilon, err);
    tg_json_close(&value);
    return status;
}

/* With GPT2Config's defaults. */
static tg_status read_sizes(struct reading *r, tg_err *err)
{
    tg_config *c = &r->f->config;
    size_t inner;
    tg_status status;

    if ((status = get_size(r, &c->n_layer, N_LAYER, LAYER_ALIAS, 12, err)) ||
        (status = get_size(r, &c->n_head, N_HEAD, HEAD_ALIAS, 12, err)) ||
        (status = get_size(r, &c->n_embd, N_EMBD, EMBD_ALIAS, 768, err)) ||
        (status = get_size(r, &c->n_ctx, N_CTX, N_CTX, 1024, err)) ||
        (status = get_size(r, &c->n_ctx, N_POSITIONS, POSITIONS_ALIAS, c->n_ctx, err)) ||
        (status = get_size(r, &c->vocab_size, VOCAB_SIZE, VOCAB_SIZE, 50257, err)) ||
        (status = get_size(r, &inner, N_INNER, N_INNER, 0, err)))
        return status;
    if (r->at[N_INNER] && (inner / 4 != c->n_embd || inner % 4 != 0))
        return tg_fail(err, TG_EDATA, "\"n_inner\" is %zu, expected 4 n_embd = 4 * %zu", inner, c->n_embd);
    tg_config_tell(r->f, TG_CONFIG_N_LAYER);
    tg_config_tell(r->f, TG_CONFIG_N_HEAD);
    tg_config_tell(r->f, TG_CONFIG_N_EMBD);
    tg_config_tell(r->f, TG_CONFIG_N_CTX);
    tg_config_tell(r->f, TG_CONFIG_VOCAB_SIZE);
    return TG_OK;
}

/* The token that begins or ends a text.  Some models have several, of which none is kept. */
static tg_status read_end(struct reading *r, size_t *token, enum member m, tg_err *err)
{
    size_t id;

    if (r->at[m] == 0)
        return TG_OK;
    if (get_size(r, &id, m, m, 0, err))
        return tg_notes_add(&r->f->notes, err, "\"%s\" is not one id, and is left out", names[m]);
    *token = id < r->f->config.vocab_size ? id + 1 : 0; /* otherwise the default of some program */
    return TG_OK;
}

static tg_status read_members(struct reading *r, tg_err *err)
{
    tg_status status;

    if ((status = check_type(r, err)) || (status = check_architectures(r, err)) ||
        (status = check_features(r, err)) || (status = read_sizes(r, err)) ||
        (status = read_activation(r, err)) || (status = read_epsilon(r, err)) ||
        (status = read_end(r, &r->f->config.bos_token, BOS, err)) ||
        (status = read_end(r, &r->f->config.eos_token, EOS, err)))
        return status;
    tg_config_tell(r->f, TG_CONFIG_TIED);
    return get_bool(r, &r->f->config.tied, TIED, true, err);
}

tg_status tg_hf_config_read(tg_model_file *f, const void *text, size_t n, const tg_model_ask *ask,
                            tg_err *err)
{
    struct reading r = {.f = f, .ask = ask};
    tg_status status;

    tg_json_open(&r.j, text, n);
    if (!(status = tg_json_members(&r.j, names, MEMBERS, r.at, err)) && !(status = tg_json_end(&r.j, err)))
        status = read_members(&r, err);
    tg_json_close(&r.j);
    return status;
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
