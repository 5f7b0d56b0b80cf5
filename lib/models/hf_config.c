/* Hugging Face's config.json. */
#include <stdio.h>
#include <string.h>

#include "formats/json.h"
#include "formats/span.h"
#include "formats/sink.h"
#include "lib/base/choice.h"
#include "lib/base/decimal.h"
#include "lib/models/canonical.h"
#include "lib/models/hf_families.h"
#include "lib/models/reading.h"

/* ---- reading */

/* The family's number in tg_hf_families(); false: GPT-2, or a failure. */
static bool find_family(tg_hf_reading *r, size_t *family)
{
    char type[TG_SHOWN_MAX];

    tg_hf_get_text(r, 0, "model_type", type);
    if (r->j.status || strcmp(type, "gpt2") == 0)
        return false;
    if (tg_choice_find(family, tg_hf_families(), type))
        return true;
    if (type[0] == '\0')
        r->j.status = tg_fail(r->j.err, TG_EDATA, "there is no \"model_type\": expected \"gpt2\" or another");
    else
        r->j.status = tg_fail(r->j.err, TG_EDATA, "\"model_type\" is \"%s\", expected one of gpt2|%s", type,
                              tg_hf_families());
    return false;
}

static void check_architectures(tg_hf_reading *r)
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

static void check_features(tg_hf_reading *r)
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
            tg_hf_refuse(r, "pruned_heads", "a layer without some of its heads");
    }
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
        if (tg_hf_get_bool(r, flags[i].name, flags[i].otherwise) != flags[i].otherwise)
            tg_hf_refuse(r, flags[i].name, flags[i].refused);
    tg_hf_refuse_quantised(r);
    if (tg_hf_get_bool(r, "reorder_and_upcast_attn", false) && !j->status)
        j->status = tg_notes_add(&r->f->notes, j->err,
                                 "\"reorder_and_upcast_attn\" concerns only the order of float32 operations: "
                                 "it changes nothing here");
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

static void read_sizes(tg_hf_reading *r)
{
    const tg_config *c = &r->f->config;
    size_t inner;

    for (const struct size *s = sizes; s < sizes + sizeof sizes / sizeof sizes[0]; s++) {
        const bool named = tg_json_find(&r->j, 0, s->name);

        if (named || s->otherwise > 0)
            r->member[s->id] = s->name;
        if (named || (s->alias && tg_json_find(&r->j, 0, s->alias))) {
            r->member[s->id] = named ? s->name : s->alias;
            tg_model_file_set_size(r->f, s->id, tg_json_get_size(&r->j));
        } else if (s->otherwise > 0)
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
static void read_end(tg_hf_reading *r, size_t *token, const char *name)
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

static void read_gpt2(tg_hf_reading *r)
{
    static const char epsilon[] = "layer_norm_epsilon";
    tg_activation activation;

    r->member[TG_CONFIG_LAYER_NORM_EPSILON] = epsilon;
    check_architectures(r);
    check_features(r);
    read_sizes(r);
    activation = tg_hf_get_activation(r, "activation_function", TG_GELU_TANH);
    tg_model_file_set_norm(r->f, activation, tg_hf_get_number(r, 0, epsilon, 1e-5));
    tg_model_file_set_tied(r->f, tg_hf_get_bool(r, "tie_word_embeddings", true));
}

tg_status tg_hf_config_read(tg_model_file *f, const void *text, size_t n, const tg_model_ask *ask,
                            tg_err *err)
{
    tg_hf_reading r = {.f = f, .ask = ask};
    size_t family;
    tg_status status;

    tg_json_open(&r.j, text, n, err);
    tg_json_enter(&r.j, TG_JSON_OBJECT); /* the whole is checked before a part is used */
    while (tg_json_key(&r.j, NULL))
        tg_json_skip(&r.j);
    tg_json_end(&r.j);
    if (find_family(&r, &family))
        tg_hf_family_read(&r, family);
    else
        read_gpt2(&r);
    read_end(&r, &f->config.bos_token, "bos_token_id");
    read_end(&r, &f->config.eos_token, "eos_token_id");
    if ((status = tg_json_close(&r.j)))
        return status;
    return tg_config_check_as(&f->config, r.member, err);
}

/* ---- writing */

/* An id that begins or ends a text, or null. */
static size_t put_end(char *text, size_t size, const char *name, size_t token)
{
    if (token == 0)
        return (size_t)snprintf(text, size, "  \"%s\": null,\n", name);
    return (size_t)snprintf(text, size, "  \"%s\": %zu,\n", name, token - 1);
}

char *tg_hf_ends(char text[TG_HF_ENDS_SIZE], const tg_model_file *f)
{
    tg_config c = f->config;
    size_t n;

    tg_config_name_ends(&c, f->tokenizer);
    n = put_end(text, TG_HF_ENDS_SIZE, "bos_token_id", c.bos_token);
    (void)put_end(text + n, TG_HF_ENDS_SIZE - n, "eos_token_id", c.eos_token);
    return text;
}

tg_status tg_hf_config_write(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    static const char *const types[TG_WRITE_TYPES] = {"float32", "float16", "bfloat16", "float32"};
    const tg_config *c = &f->config;
    char text[2048], ends[TG_HF_ENDS_SIZE], epsilon[TG_DECIMAL_SIZE], activation[TG_CHOICE_SIZE];
    int n;

    *tg_decimal_general(epsilon, 17, c->layer_norm_epsilon) = '\0';
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
                 "%s"
                 "  \"torch_dtype\": \"%s\"\n"
                 "}\n",
                 c->vocab_size, c->n_ctx, c->n_ctx, c->n_embd, c->n_layer, c->n_head,
                 tg_choice_name(activation, TG_ACTIVATIONS, c->activation), epsilon,
                 c->tied ? "true" : "false", tg_hf_ends(ends, f), types[o->type]);
    return tg_write_all(fd, text, (size_t)n, err);
}
