/* Hugging Face's config.json. */
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "formats/span.h"
#include "formats/sink.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/models/hf_families.h"
#include "lib/models/reading.h"

/* ---- reading */

struct reading {
    tg_model_file *f;
    const tg_model_ask *ask;
    tg_json j;
};

/* The reader's failures are kept in j, and others with them. */
static void refuse(struct reading *r, const char *name, const char *value)
{
    if (!r->j.status)
        r->j.status = tg_fail(r->j.err, TG_EDATA, "\"%s\": %s is not supported", name, value);
}

static bool get_bool(struct reading *r, const char *name, bool otherwise)
{
    return tg_json_find(&r->j, 0, name) ? tg_json_get_bool(&r->j) : otherwise;
}

/* A text, cut to what a message shows; "" if there is none. */
static void get_text(struct reading *r, char out[TG_SHOWN_MAX], const char *name)
{
    const tg_span text = tg_json_find(&r->j, 0, name) ? tg_json_get_text(&r->j) : (tg_span){"", 0};

    (void)tg_shown(out, (tg_span){text.p, tg_size_min(text.n, 60)});
}

static void read_type(struct reading *r, char type[TG_SHOWN_MAX])
{
    get_text(r, type, "model_type");
    if (r->j.status || strcmp(type, "gpt2") == 0 || tg_hf_is_family(type))
        return;
    if (type[0] == '\0')
        r->j.status = tg_fail(r->j.err, TG_EDATA, "there is no \"model_type\": expected \"gpt2\" or another");
    else
        r->j.status = tg_fail(r->j.err, TG_EDATA, "\"model_type\" is \"%s\", expected one of gpt2, %s", type,
                              tg_hf_families());
}

static void check_architectures(struct reading *r)
{
    tg_json *const j = &r->j;

    if (!tg_json_find(&r->j, 0, "architectures"))
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
    static const struct {
        const char *name;
        bool otherwise;
        const char *refused; /* the other value */
    } flags[] = {
        {"scale_attn_weights", true, "false (scores that are not divided by the root of the head's width)"},
        {"scale_attn_by_inverse_layer_idx", false, "true (scores divided by the layer's number)"},
        {"add_cross_attention", false, "true"},
    };

    if (tg_json_find(&r->j, 0, "pruned_heads")) { /* heads that were cut off: an object, by layer */
        tg_json_enter(j, TG_JSON_OBJECT);
        if (tg_json_key(j, NULL))
            refuse(r, "pruned_heads", "a layer without some of its heads");
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (get_bool(r, flags[i].name, flags[i].otherwise) != flags[i].otherwise)
            refuse(r, flags[i].name, flags[i].refused);
    if (tg_json_find(&r->j, 0, "quantization_config"))
        refuse(r, "quantization_config", "a quantised checkpoint");
    if (get_bool(r, "reorder_and_upcast_attn", false) && !j->status)
        j->status = tg_notes_add(&r->f->notes, j->err,
                                 "\"reorder_and_upcast_attn\" concerns only the order of float32 operations: "
                                 "it changes nothing here");
}

static tg_activation read_activation(struct reading *r)
{
    static const struct {
        const char *name;
        tg_activation kind;
    } known[] = {{"gelu_new", TG_GELU_TANH},
                 {"gelu_pytorch_tanh", TG_GELU_TANH},
                 {"gelu", TG_GELU_ERF},
                 {"gelu_python", TG_GELU_ERF},
                 {"", TG_GELU_TANH}};
    char name[TG_SHOWN_MAX], shown[TG_SHOWN_MAX + 2];

    get_text(r, name, "activation_function");
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].kind;
    snprintf(shown, sizeof shown, "\"%s\"", name);
    refuse(r, "activation_function", shown);
    return TG_GELU_TANH;
}

/* GPT2Config's attribute_map gives some sizes a second name. */
static const struct size {
    const char *name, *alias;
    tg_config_id id;
    size_t otherwise; /* GPT2Config's default; 0: what the row before has set */
} sizes[] = {
    {"n_layer", "num_hidden_layers", TG_CONFIG_N_LAYER, 12},
    {"n_head", "num_attention_heads", TG_CONFIG_N_HEAD, 12},
    {"n_embd", "hidden_size", TG_CONFIG_N_EMBD, 768},
    {"n_ctx", NULL, TG_CONFIG_N_CTX, 1024},
    {"n_positions", "max_position_embeddings", TG_CONFIG_N_CTX, 0},
    {"vocab_size", NULL, TG_CONFIG_VOCAB_SIZE, 50257},
};

static void read_sizes(struct reading *r)
{
    const tg_config *c = &r->f->config;
    size_t inner;

    for (const struct size *s = sizes; s < sizes + sizeof sizes / sizeof sizes[0]; s++) {
        if (tg_json_find(&r->j, 0, s->name) || (s->alias && tg_json_find(&r->j, 0, s->alias)))
            tg_model_file_set_size(r->f, s->id, tg_json_get_size(&r->j));
        else if (s->otherwise > 0)
            tg_model_file_set_size(r->f, s->id, s->otherwise);
    }
    if (!tg_json_find(&r->j, 0, "n_inner"))
        return;
    inner = tg_json_get_size(&r->j);
    if (!r->j.status && (inner / 4 != c->n_embd || inner % 4 != 0))
        r->j.status =
            tg_fail(r->j.err, TG_EDATA, "\"n_inner\" is %zu, expected 4 n_embd = 4 * %zu", inner, c->n_embd);
}

/* The token that begins or ends a text.  Some models have several, of which none is kept. */
static void read_end(struct reading *r, size_t *token, const char *name)
{
    size_t id;

    if (r->j.status || !tg_json_find(&r->j, 0, name))
        return;
    id = tg_json_get_size(&r->j);
    if (r->j.status)
        r->j.status = tg_notes_add(&r->f->notes, r->j.err, "\"%s\" is not one id, and is left out", name);
    else
        *token = id < r->f->config.vocab_size ? id + 1 : 0; /* otherwise the default of some program */
}

static void read_gpt2(struct reading *r)
{
    tg_activation activation;
    double epsilon;

    check_architectures(r);
    check_features(r);
    read_sizes(r);
    activation = read_activation(r);
    epsilon = tg_json_find(&r->j, 0, "layer_norm_epsilon") ? tg_json_get_number(&r->j) : 1e-5;
    tg_model_file_set_norm(r->f, activation, epsilon);
    tg_model_file_set_tied(r->f, get_bool(r, "tie_word_embeddings", true));
}

tg_status tg_hf_config_read(tg_model_file *f, const void *text, size_t n, const tg_model_ask *ask,
                            tg_err *err)
{
    struct reading r = {.f = f, .ask = ask};
    char type[TG_SHOWN_MAX];

    tg_json_open(&r.j, text, n, err);
    tg_json_enter(&r.j, TG_JSON_OBJECT); /* the whole is checked before a part is used */
    while (tg_json_key(&r.j, NULL))
        tg_json_skip(&r.j);
    tg_json_end(&r.j);
    read_type(&r, type);
    if (r.j.status || strcmp(type, "gpt2") == 0)
        read_gpt2(&r);
    else
        tg_hf_family_read(f, &r.j, type);
    read_end(&r, &f->config.bos_token, "bos_token_id");
    read_end(&r, &f->config.eos_token, "eos_token_id");
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
