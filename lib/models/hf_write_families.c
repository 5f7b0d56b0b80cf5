/* Hugging Face's config.json of the families after GPT-2: what their classes' keys say of the config. */
#include "lib/models/hf_write_families.h"

#include <math.h>
#include <string.h>

#include "formats/sink.h"
#include "lib/base/decimal.h"
#include "lib/models/reading.h"

/* ---- values */

/* A number in the fewest digits that are read back as it; with a point or an exponent, since some of
 * transformers' checks want no integer. */
static void put_number(tg_sink *sink, double x)
{
    char text[TG_DECIMAL_SIZE + 3];
    const char *end;
    int digits = 15;

    do
        *tg_decimal_general(text, digits++, x) = '\0';
    while (digits <= 17 && tg_decimal_read(text, &end) != x);
    tg_sink_print(sink, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void put_bool(tg_sink *sink, bool yes)
{
    tg_sink_puts(sink, yes ? "true" : "false");
}

/* null instead of `none` */
static void put_size_or_null(tg_sink *sink, size_t x, size_t none)
{
    if (x == none)
        tg_sink_puts(sink, "null");
    else
        tg_sink_put_size(sink, x);
}

/* The member of the only bit. */
static const tg_field *field_of(uint64_t members)
{
    size_t id = 0;

    while (!(members >> id & 1))
        id++;
    return &tg_config_fields.row[id];
}

static void put_member(tg_sink *sink, const tg_config *c, const tg_field *f)
{
    const void *member = tg_field_member(f, c);

    if (f->type == TG_FIELD_SIZE)
        tg_sink_put_size(sink, *(const size_t *)member);
    else if (f->type == TG_FIELD_REAL)
        put_number(sink, *(const double *)member);
    else
        put_bool(sink, *(const bool *)member);
}

/* A part of which the whole, times it, is the channels again when the fraction is cut off. */
static void put_rotated_part(tg_sink *sink, const tg_config *c)
{
    const double whole = (double)tg_config_head_dim(c);
    double part = (double)tg_config_rope_dim(c) / whole;

    if ((size_t)(whole * part) < tg_config_rope_dim(c))
        part = nextafter(part, 2);
    put_number(sink, part);
}

static void put_scaling(tg_sink *sink, const tg_config *c, const char *type)
{
    if (c->rope_scaling == TG_ROPE_PLAIN) {
        tg_sink_puts(sink, "null");
        return;
    }
    tg_sink_print(sink, "{\n    \"%s\": \"%s\",\n    \"factor\": ", type,
                  c->rope_scaling == TG_ROPE_LINEAR ? "linear" : "llama3");
    put_number(sink, c->rope_factor);
    if (c->rope_scaling == TG_ROPE_LLAMA3) {
        tg_sink_puts(sink, ",\n    \"low_freq_factor\": ");
        put_number(sink, c->rope_low_freq);
        tg_sink_puts(sink, ",\n    \"high_freq_factor\": ");
        put_number(sink, c->rope_high_freq);
        tg_sink_print(sink, ",\n    \"original_max_position_embeddings\": %zu", c->rope_ctx);
    }
    tg_sink_puts(sink, "\n  }");
}

/* ---- windows and layers */

/* The first layer with the window; n_layer: none has it. */
static size_t first_with_window(const tg_config *c)
{
    size_t l = 0;

    while (l < c->n_layer && tg_config_window(c, l) == 0)
        l++;
    return l;
}

static size_t window_of_some(const tg_config *c)
{
    return first_with_window(c) < c->n_layer ? c->window : 0;
}

static void put_layers(tg_sink *sink, const tg_config *c, const char *(*text)(const tg_config *c, size_t l))
{
    for (size_t l = 0; l < c->n_layer; l++)
        tg_sink_print(sink, "%s%s", l == 0 ? "[\n    " : ",\n    ", text(c, l));
    tg_sink_puts(sink, "\n  ]");
}

static const char *layer_type(const tg_config *c, size_t l)
{
    return tg_config_window(c, l) > 0 ? "\"sliding_attention\"" : "\"full_attention\"";
}

static const char *rotates(const tg_config *c, size_t l)
{
    return tg_config_rotates(c, l) ? "1" : "0";
}

/* ---- the file */

static const char *activation_name(tg_activation activation)
{
    static const char *const names[TG_ACTIVATION_KINDS] = {
        [TG_GELU_TANH] = "\"gelu_pytorch_tanh\"",
        [TG_GELU_ERF] = "\"gelu\"",
        [TG_SILU] = "\"silu\"",
        [TG_RELU2] = "\"relu2\"",
    };

    return names[activation];
}

static void put_cap(tg_sink *sink, double cap)
{
    if (cap > 0)
        put_number(sink, cap);
    else
        tg_sink_puts(sink, "null");
}

static void put_value(tg_sink *sink, const tg_config *c, const tg_hf_key *key)
{
    switch (key->how) {
    case TG_HF_MEMBER:
        put_member(sink, c, field_of(key->members));
        break;
    case TG_HF_CAP:
        put_cap(sink, *(const double *)tg_field_member(field_of(key->members), c));
        break;
    case TG_HF_CONSTANT:
        tg_sink_puts(sink, key->value);
        break;
    case TG_HF_ACTIVATION:
        tg_sink_puts(sink, activation_name(c->activation));
        break;
    case TG_HF_BIASES:
        put_bool(sink, c->qkv_bias);
        break;
    case TG_HF_ROTATED_PART:
        put_rotated_part(sink, c);
        break;
    case TG_HF_ROTATED_LAYERS:
        put_layers(sink, c, rotates);
        break;
    case TG_HF_SCALING:
        put_scaling(sink, c, "rope_type");
        break;
    case TG_HF_TYPED_SCALING:
        put_scaling(sink, c, "type");
        break;
    case TG_HF_LOCAL_THETA:
        put_number(sink, c->rope_local_theta > 0 ? c->rope_local_theta : c->rope_theta);
        break;
    case TG_HF_SCALE:
        tg_sink_put_size(sink, tg_hf_scale(c));
        break;
    case TG_HF_WINDOW:
        put_size_or_null(sink, window_of_some(c), 0);
        break;
    case TG_HF_WINDOW_SIZE:
        tg_sink_put_size(sink, window_of_some(c) > 0 ? c->window : c->n_ctx);
        break;
    case TG_HF_HAS_WINDOW:
        put_bool(sink, window_of_some(c) > 0);
        break;
    case TG_HF_WINDOW_FIRST:
        tg_sink_put_size(sink, first_with_window(c));
        break;
    case TG_HF_LAYER_TYPES:
        put_layers(sink, c, layer_type);
        break;
    }
}

tg_status tg_hf_family_config(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    static const char *const types[TG_WRITE_TYPES] = {"float32", "float16", "bfloat16", "float32"};
    const tg_hf_class *class = tg_hf_class_for(&f->config);
    const tg_config c = tg_hf_class_padded(class, &f->config);
    tg_sink sink = {.fd = fd};
    char ends[TG_HF_ENDS_SIZE];

    tg_sink_print(&sink,
                  "{\n  \"architectures\": [\n    \"%s\"\n  ],\n"
                  "  \"model_type\": \"%s\",\n",
                  class->architecture, class->type);
    for (size_t i = 0; i < class->n_keys; i++) {
        tg_sink_print(&sink, "  \"%s\": ", class->key[i].name);
        put_value(&sink, &c, &class->key[i]);
        tg_sink_puts(&sink, ",\n");
    }
    /* classes have defaults for the ends of a text, and for the padding: null is none */
    tg_sink_print(&sink, "%s  \"pad_token_id\": null,\n  \"torch_dtype\": \"%s\"\n}\n", tg_hf_ends(ends, f),
                  types[o->type]);
    return tg_sink_flush(&sink, err);
}

/* ---- what a class cannot hold */

/* Gains of norms that have Gemma's 1 already, as in GGUF files, are written without it. */
static tg_status check_class(const tg_hf_class *class, const tg_model_file *f, tg_write_type type,
                             tg_err *err)
{
    tg_config c = f->config;
    bool less = class->gemma && c.norm_offset == 0;
    const tg_status status = less ? tg_hf_gains_less(&less, f, type, err) : TG_OK;

    if (status)
        return status;
    if (less)
        c.norm_offset = 1;
    return tg_hf_class_check(class, &c, type, err);
}

tg_status tg_hf_family_check(const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    const tg_hf_class *class = tg_hf_class_for(&f->config);

    if (!class)
        return tg_names_check_family(&tg_names_gpt2, &f->config, "transformers", err);
    if (o->split_qkv)
        return tg_fail(err, TG_EUSAGE, "--split-qkv is for GPT-2: Hugging Face's \"%s\" has %s", class->type,
                       tg_names_joint(tg_names_hf(class->family), TG_Q_W) ? "q, k and v joined"
                                                                          : "separate matrices anyway");
    return check_class(class, f, o->type, err);
}
