/*
 * Hugging Face's directories of Llama, Mistral, Qwen 2 and 3, GPT-NeoX and Phi-3: what their configs say, and
 * what they must not say.  tests/judges/families.py compares the numbers of such models with transformers'.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "lib/gpt/family.h"
#include "tests/unit/check.h"
#include "tests/unit/hf_read.h"
#include "tests/unit/small_model.h"

static void configs(void)
{
    tg_config c = hf_config("llama");

    c.head_dim = 4;
    c.rope_theta = 500000;
    hf_expect("\"model_type\": \"llama\", \"head_dim\": 4, \"rope_theta\": 500000.0, \"rope_scaling\": null",
              c);
    c = hf_config("llama");
    c.n_kv_head = 2;
    c.tied = c.qkv_bias = c.out_bias = c.mlp_bias = true;
    c.head_dim = 6;
    c.rope_scaling = TG_ROPE_LLAMA3;
    c.rope_factor = 8;
    c.rope_low_freq = 1;
    c.rope_high_freq = 4;
    c.rope_ctx = 32;
    hf_expect(
        "\"model_type\": \"llama\", \"num_key_value_heads\": 2, \"head_dim\": 6, \"tie_word_embeddings\": "
        "true, "
        "\"attention_bias\": true, \"mlp_bias\": true, \"rope_parameters\": {\"rope_type\": \"llama3\", "
        "\"rope_theta\": 10000.0, \"factor\": 8.0, \"low_freq_factor\": 1.0, \"high_freq_factor\": 4.0, "
        "\"original_max_position_embeddings\": 32}",
        c);
    c = hf_config("llama");
    c.head_dim = 4;
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 2.5;
    hf_expect("\"model_type\": \"mistral\", \"num_key_value_heads\": 4, \"head_dim\": 4, \"sliding_window\": "
              "null, \"rope_scaling\": "
              "{\"type\": "
              "\"linear\", \"factor\": 2.5}",
              c);
    c = hf_config("qwen2");
    c.head_dim = 6;
    c.n_kv_head = 1;
    c.qkv_bias = true;
    c.layer_norm_epsilon = 1e-5;
    hf_expect(
        "\"model_type\": \"qwen2\", \"num_key_value_heads\": 1, \"head_dim\": 6, \"rms_norm_eps\": 1e-05, "
        "\"sliding_window\": 8, \"use_sliding_window\": false, \"rope_scaling\": {\"rope_type\": "
        "\"default\"}",
        c);
    c = hf_config("qwen3");
    c.head_dim = 128;
    c.qk_norm = true;
    c.tied = true;
    hf_expect("\"model_type\": \"qwen3\", \"num_key_value_heads\": 4, \"tie_word_embeddings\": true", c);
}

/* What transformers' classes assume where a config says nothing, or null. */
static void defaults(void)
{
    static const struct {
        const char *members, *family;
        size_t n_ctx, n_kv_head, head_dim;
    } cases[] = {
        {"\"llama\"", "llama", 2048, 32, 2},
        {"\"llama\", \"num_key_value_heads\": null, \"sliding_window\": 8", "llama", 2048, 32, 2},
        {"\"mistral\", \"sliding_window\": null", "llama", 131072, 8, 2},
        {"\"mistral\", \"num_key_value_heads\": null, \"max_position_embeddings\": 4096", "llama", 4096, 32,
         2},
        {"\"qwen2\"", "qwen2", 32768, 32, 2},
        {"\"qwen2\", \"max_position_embeddings\": 4096, \"use_sliding_window\": true", "qwen2", 4096, 32, 2},
        {"\"qwen3\"", "qwen3", 32768, 32, 128},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tg_config c = hf_config(cases[i].family);

        c.n_embd = 64;
        c.n_head = 32;
        c.n_ctx = cases[i].n_ctx;
        c.n_kv_head = cases[i].n_kv_head;
        c.head_dim = cases[i].head_dim;
        c.qkv_bias = strcmp(cases[i].family, "qwen2") == 0;
        c.qk_norm = strcmp(cases[i].family, "qwen3") == 0;
        hf_write_json(FEW, cases[i].members);
        hf_expect_read(c);
    }
}

static void activations(void)
{
    tg_config c = hf_config("llama");

    c.head_dim = 4;
    c.activation = TG_GELU_ERF;
    hf_expect("\"model_type\": \"llama\", \"head_dim\": 4, \"hidden_act\": \"gelu\"", c);
    c.activation = TG_GELU_TANH;
    hf_expect("\"model_type\": \"llama\", \"head_dim\": 4, \"hidden_act\": \"gelu_pytorch_tanh\"", c);
    c.activation = TG_RELU2;
    hf_expect("\"model_type\": \"llama\", \"head_dim\": 4, \"hidden_act\": \"relu2\"", c);
}

static void refusals(void)
{
    tg_config c = hf_config("llama");

    c.head_dim = 4;
    hf_write_tensors(&c, NULL, NULL);
    hf_refuse("\"model_type\": \"mixtral\"", "\"model_type\" is \"mixtral\", expected one of "
                                             "gpt2|llama|mistral|smollm3|qwen2|qwen3|gemma|gemma2|");
    hf_refuse(LLAMA ", \"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2}",
              "\"rope_scaling\": scaling \"yarn\"");
    hf_refuse(LLAMA ", \"rope_parameters\": {\"rope_type\": \"longrope\"}",
              "scaling \"longrope\" is not supported");
    hf_refuse(LLAMA ", \"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 2}",
              "\"low_freq_factor\" is missing");
    hf_refuse(LLAMA ", \"rope_parameters\": {\"partial_rotary_factor\": 0.5}",
              "a rotation of part of a head");
    hf_refuse(LLAMA ", \"partial_rotary_factor\": 0.5",
              "\"partial_rotary_factor\": a rotation of part of a head");
    hf_refuse(LLAMA
              ", \"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 2, \"low_freq_factor\": 1, "
              "\"high_freq_factor\": 4, \"original_max_position_embeddings\": -32}",
              "config.json: line 1");
    hf_refuse(LLAMA
              ", \"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 2, \"low_freq_factor\": 1, "
              "\"high_freq_factor\": 4, \"original_max_position_embeddings\": 8.5}",
              "config.json: line 1");
    hf_refuse(LLAMA ", \"hidden_act\": \"tanh\"", "\"hidden_act\": \"tanh\" is not supported");
    hf_refuse(LLAMA ", \"quantization_config\": {}", "a quantised checkpoint");
    hf_refuse(LLAMA ", \"num_key_value_heads\": 3",
              "config.json: \"num_key_value_heads\" is 3, expected a divisor of \"num_attention_heads\", 4");
    hf_refuse("\"model_type\": \"llama\", \"head_dim\": 5",
              "5 channels of a head are rotated, expected an even number");
    hf_refuse(LLAMA ", \"mlp_bias\": true", "model.layers.0.mlp.gate_proj.bias is missing");
    hf_write_tensors(&c, "model.layers.1.self_attn.k_proj.weight", NULL);
    hf_refuse(LLAMA, "model.layers.1.self_attn.k_proj.weight is missing");
    hf_write_tensors(&c, NULL, "model.norm.weight");
    hf_refuse(LLAMA, "model.norm.weight has shape (13,), expected (12,)");
    c.mlp_bias = true;
    hf_write_tensors(&c, NULL, NULL);
    hf_refuse(LLAMA,
              "model.layers.0.mlp.gate_proj.bias is not a tensor of the family llama with this config");
}

/* Options for files that do not say something are not for these. */
static void options(void)
{
    tg_config c = hf_config("llama");

    c.head_dim = 4;
    hf_write_tensors(&c, NULL, NULL);
    hf_refuse_asked(LLAMA, &(tg_model_ask){.heads = 2}, TG_EUSAGE, "the file says 4 heads, not 2");
    hf_refuse_asked(LLAMA, &(tg_model_ask){.activation = "gelu_new"}, TG_EUSAGE,
                    "the file says silu, not gelu_new");
    hf_refuse_asked(LLAMA, &(tg_model_ask){.map = "map"}, TG_EUSAGE,
                    "tensors of the family llama have the names");
    hf_expect(LLAMA ", \"num_key_value_heads\": 4", c);
}

/* A head that differs from the embedding is its own matrix whatever the config says. */
static void untied(void)
{
    tg_config c = hf_config("llama");
    tg_model_file f;
    tg_err err = {0};

    c.head_dim = 4;
    hf_write_tensors(&c, NULL, NULL);
    hf_write_config(LLAMA ", \"tie_word_embeddings\": true");
    CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
    CHECK(!f.config.tied && f.notes.n == 1);
    tg_model_file_close(&f);
    c.tied = true;
    hf_write_tensors(&c, NULL, NULL);
    CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
    CHECK(f.config.tied && f.notes.n == 0);
    tg_model_file_close(&f);
}

/* ---- GPT-NeoX, whose files have q, k and v in one tensor */

#define NEOX                                                                                                 \
    "\"model_type\": \"gpt_neox\", \"hidden_size\": 16, \"intermediate_size\": 20, \"num_hidden_layers\": "  \
    "1, "                                                                                                    \
    "\"vocab_size\": 256, \"max_position_embeddings\": 64, \"num_attention_heads\": "

/* Row r, column c of a matrix, or element r of a vector; the same in every tensor but the joint ones. */
static float neox_value(size_t r, size_t c)
{
    return (float)r + (float)c / 64;
}

/* The name and the rows of what the file has in place of p; false: nothing. */
static bool neox_name(char name[128], size_t *rows, const tg_param *p)
{
    const bool first = p->kind == TG_Q_W || p->kind == TG_Q_B;

    snprintf(name, 128, "%s", p->name);
    *rows = p->shape[0];
    if (first) {
        snprintf(name, 128, "gpt_neox.layers.0.attention.query_key_value.%s",
                 p->ndim == 2 ? "weight" : "bias");
        *rows *= 3;
    }
    return first || p->kind < TG_Q_W || p->kind > TG_V_B;
}

static void write_arrays(const tg_array *arrays, size_t n)
{
    const int fd = open(hf_in_directory("model.safetensors"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    tg_safetensors_writer w;
    tg_err err = {0};

    CHECK_OK(tg_safetensors_begin(&w, fd, arrays, n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        const size_t columns = arrays[i].ndim == 2 ? arrays[i].shape[1] : 1;

        for (size_t e = 0; e < arrays[i].count; e++) {
            const float x = neox_value(e / columns, e % columns);

            CHECK_OK(tg_safetensors_put(&w, &x, sizeof x, &err), &err);
        }
    }
    tg_safetensors_end(&w);
    close(fd);
}

/* joint: with q, k and v; mask: with what old files have besides. */
static void write_neox(const tg_config *c, bool joint, bool mask)
{
    tg_array arrays[64];
    tg_params table;
    size_t n = 0, rows;
    tg_err err = {0};

    CHECK_OK(tg_params_build(&table, c, &err), &err);
    for (size_t i = 0; i < table.n; i++) {
        const tg_param *p = &table.entry[i];
        tg_array a = {.dtype = TG_F32, .ndim = p->ndim};

        if (!neox_name(a.name, &rows, p) || (!joint && rows > p->shape[0]))
            continue;
        a.shape[0] = rows;
        a.shape[1] = p->shape[1];
        a.count = rows * (p->ndim == 2 ? p->shape[1] : 1);
        arrays[n++] = a;
    }
    if (mask)
        arrays[n++] = (tg_array){.name = "gpt_neox.layers.0.attention.masked_bias",
                                 .dtype = TG_F32,
                                 .ndim = 1,
                                 .shape = {1},
                                 .count = 1};
    write_arrays(arrays, n);
    tg_params_free(&table);
}

static tg_config neox_base(void)
{
    tg_config c = hf_config("gpt_neox");

    c.n_layer = 1;
    c.n_head = 2;
    c.n_kv_head = c.head_dim = 0;
    c.n_embd = 16;
    c.rope_dim = 2;
    c.layer_norm_epsilon = 1e-5;
    c.activation = TG_GELU_ERF;
    c.qkv_bias = c.out_bias = true;
    return c;
}

/* Rows of a head are q's, k's, v's: 24 for each of two heads. */
static void check_neox(const tg_model_file *f)
{
    for (size_t i = 0; i < f->table.n; i++) {
        const tg_param *p = &f->table.entry[i];
        const bool joint = p->kind >= TG_Q_W && p->kind <= TG_V_B;
        const size_t first = joint ? (p->kind - TG_Q_W) / 2 * 8 : 0, columns = p->ndim == 2 ? p->shape[1] : 1;
        tg_float_buffer buffer = {0};
        const float *x;
        tg_err err = {0};

        CHECK_OK(tg_model_file_get(&x, &buffer, f, i, false, &err), &err);
        for (size_t r = 0; r < p->shape[0]; r++)
            for (size_t c = 0; c < columns; c++)
                CHECK(x[r * columns + c] == neox_value(joint ? r / 8 * 24 + r % 8 + first : r, c));
        free(buffer.x);
    }
}

static void expect_neox(const char *members, tg_config want, bool mask)
{
    FILE *config = fopen(hf_in_directory("config.json"), "w");
    tg_model_file f;
    tg_err err = {0};

    CHECK(config && fprintf(config, "{%s%s}\n", NEOX, members) > 0 && fclose(config) == 0);
    write_neox(&want, true, mask);
    CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
    CHECK(small_config_equal(&f.config, &want));
    check_neox(&f);
    tg_model_file_close(&f);
}

static void refuse_neox(const char *members, const char *message)
{
    FILE *config = fopen(hf_in_directory("config.json"), "w");
    tg_model_file f;
    tg_err err = {0};

    CHECK(config && fprintf(config, "{%s%s}\n", NEOX, members) > 0 && fclose(config) == 0);
    CHECK_EQ(tg_model_file_open(&f, hf_directory, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
}

static void neox(void)
{
    tg_config c = neox_base();

    expect_neox("2", c, true);
    c.rope_dim = 4;
    c.rope_theta = 500;
    expect_neox("2, \"rotary_pct\": 0.5, \"rotary_emb_base\": 500, \"hidden_act\": \"gelu\"", c, false);
    expect_neox("2, \"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 500.0, "
                "\"partial_rotary_factor\": 0.5}",
                c, false);
    c.qkv_bias = c.out_bias = false;
    c.tied = true;
    c.activation = TG_GELU_TANH;
    expect_neox("2, \"rotary_pct\": 0.5, \"rotary_emb_base\": 500, \"attention_bias\": false, "
                "\"tie_word_embeddings\": true, \"hidden_act\": \"gelu_new\"",
                c, false);
}

static void neox_refused(void)
{
    const tg_config c = neox_base();

    write_neox(&c, true, false);
    refuse_neox("3, \"rotary_pct\": 0.5", "3 heads do not divide C = 16");
    refuse_neox("2, \"use_parallel_residual\": false",
                "attention and MLP one after the other is not supported");
    refuse_neox("2, \"rotary_pct\": 2",
                "\"rotary_pct\": a rotation of no channel, or of more than a head has,");
    refuse_neox("2, \"rotary_pct\": 0.01", "\"rotary_pct\": a rotation of no channel");
    refuse_neox("2, \"rotary_pct\": 0.4", "3 channels of a head are rotated, expected an even number");
    refuse_neox("2, \"attention_bias\": false", "gpt_neox.layers.0.attention.query_key_value.bias is not a "
                                                "tensor of the family gpt_neox with this config");
    write_neox(&c, false, false);
    refuse_neox("2", "gpt_neox.layers.0.attention.query_key_value.weight is missing");
}

/* ---- Phi-3, whose files have q, k and v in one tensor, and the two matrices that begin the MLP */

#define PHI3                                                                                                 \
    "\"model_type\": \"phi3\", \"hidden_size\": 12, \"intermediate_size\": 20, \"num_hidden_layers\": 1, "   \
    "\"vocab_size\": 256, \"max_position_embeddings\": 64, \"num_attention_heads\": 4, "                     \
    "\"num_key_value_heads\": 2, \"head_dim\": 6"

static tg_config phi3_base(void)
{
    tg_config c = hf_config("phi3");

    c.n_layer = 1;
    c.n_kv_head = 2;
    c.head_dim = 6; /* all channels are rotated: rope_dim is 0 */
    c.layer_norm_epsilon = 1e-5;
    return c;
}

/* joint: rows of the MLP's tensor. */
static void write_phi3(const tg_config *c, size_t joint)
{
    const size_t V = c->vocab_size, C = c->n_embd, Q = 24, KV = 12, F = c->n_inner;
    const struct {
        const char *name;
        size_t rows, columns;
    } tensors[] = {
        {"model.embed_tokens.weight", V, C},
        {"model.layers.0.input_layernorm.weight", C, 0},
        {"model.layers.0.self_attn.qkv_proj.weight", Q + 2 * KV, C},
        {"model.layers.0.self_attn.o_proj.weight", C, Q},
        {"model.layers.0.post_attention_layernorm.weight", C, 0},
        {"model.layers.0.mlp.gate_up_proj.weight", joint, C},
        {"model.layers.0.mlp.down_proj.weight", C, F},
        {"model.norm.weight", C, 0},
        {"lm_head.weight", V, C},
    };
    tg_array arrays[9];

    for (size_t i = 0; i < 9; i++) {
        const size_t columns = tensors[i].columns;

        arrays[i] = (tg_array){.dtype = TG_F32,
                               .ndim = columns > 0 ? 2 : 1,
                               .shape = {tensors[i].rows, columns},
                               .count = tensors[i].rows * (columns > 0 ? columns : 1)};
        snprintf(arrays[i].name, sizeof arrays[i].name, "%s", tensors[i].name);
    }
    write_arrays(arrays, 9);
}

/* The row of its tensor where a parameter begins. */
static size_t phi3_row(tg_param_kind kind)
{
    return kind == TG_K_W ? 24 : kind == TG_V_W ? 36 : kind == TG_UP_W ? 20 : 0;
}

static void expect_phi3(const char *members, tg_config want)
{
    tg_float_buffer buffer = {0};
    tg_model_file f;
    const float *x;
    tg_err err = {0};

    hf_write_json(PHI3, members);
    write_phi3(&want, 40);
    CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
    CHECK(small_config_equal(&f.config, &want));
    for (size_t i = 0; i < f.table.n; i++) {
        const tg_param *p = &f.table.entry[i];
        const size_t columns = p->ndim == 2 ? p->shape[1] : 1;

        CHECK_OK(tg_model_file_get(&x, &buffer, &f, i, false, &err), &err);
        for (size_t e = 0; e < p->count; e++)
            CHECK(x[e] == neox_value(phi3_row(p->kind) + e / columns, e % columns));
    }
    free(buffer.x);
    tg_model_file_close(&f);
}

static void phi3(void)
{
    tg_config c = phi3_base();

    expect_phi3(", \"original_max_position_embeddings\": 64, \"rope_scaling\": null", c);
    c.rope_dim = 4;
    c.window = 8;
    c.window_layers = 1;
    c.rope_theta = 500;
    expect_phi3(", \"partial_rotary_factor\": 0.75, \"sliding_window\": 8, \"rope_theta\": 500", c);
    expect_phi3(", \"sliding_window\": 8, \"rope_parameters\": {\"rope_type\": \"default\", "
                "\"rope_theta\": 500.0, \"partial_rotary_factor\": 0.75}",
                c);
}

static void refuse_phi3(const char *members, const char *message)
{
    hf_write_json(PHI3, members);
    hf_refuse_read(message);
}

static void phi3_refused(void)
{
    const tg_config c = phi3_base();

    write_phi3(&c, 40);
    refuse_phi3(", \"rope_scaling\": {\"type\": \"longrope\", \"short_factor\": [1]}",
                "\"rope_scaling\": scaling \"longrope\" is not supported");
    refuse_phi3(", \"rope_scaling\": {\"type\": \"su\"}",
                "\"rope_scaling\": scaling \"su\" is not supported");
    refuse_phi3(", \"rope_scaling\": {\"type\": \"yarn\"}",
                "\"rope_scaling\": scaling \"yarn\" is not supported");
    refuse_phi3(", \"partial_rotary_factor\": 1.5",
                "\"partial_rotary_factor\": a rotation of no channel, or");
    refuse_phi3(", \"partial_rotary_factor\": 0.5",
                "3 channels of a head are rotated, expected an even number");
    refuse_phi3(", \"attention_bias\": true", "model.layers.0.self_attn.q_proj.bias is missing");
    write_phi3(&c, 39);
    refuse_phi3("", "model.layers.0.mlp.gate_up_proj.weight has shape (39, 12), expected (40, 12)");
}

/* ---- StableLM: LayerNorm, and heads of C/H channels */

#define STABLELM "\"model_type\": \"stablelm\", \"num_key_value_heads\": 2, \"layer_norm_eps\": 1e-06"

static void stablelm(void)
{
    tg_config c = hf_config("stablelm");

    c.n_kv_head = 2;
    c.head_dim = 0;
    c.rope_dim = 2;
    hf_expect(STABLELM ", \"partial_rotary_factor\": 0.67", c);
    c.qkv_bias = c.tied = true;
    c.rope_theta = 500;
    hf_expect(STABLELM
              ", \"use_qkv_bias\": true, \"tie_word_embeddings\": true, \"use_parallel_residual\": false, "
              "\"qk_layernorm\": false, \"rope_parameters\": {\"rope_type\": \"default\", "
              "\"rope_theta\": 500.0, \"partial_rotary_factor\": 0.67}",
              c);
    c = hf_config("stablelm"); /* what transformers assumes */
    c.n_embd = 64 * 32;
    c.n_head = c.n_kv_head = 32;
    c.head_dim = 0;
    c.n_ctx = 4096;
    c.rope_dim = 16;
    c.n_layer = 1;
    c.layer_norm_epsilon = 1e-5;
    hf_write_json("\"hidden_size\": 2048, \"intermediate_size\": 20, \"num_hidden_layers\": 1, "
                  "\"num_attention_heads\": 32, \"vocab_size\": 256, \"model_type\": ",
                  "\"stablelm\"");
    hf_expect_read(c);
}

static void stablelm_refused(void)
{
    tg_config c = hf_config("stablelm");

    c.n_kv_head = 2;
    c.head_dim = 0;
    hf_write_tensors(&c, NULL, NULL);
    hf_refuse(STABLELM ", \"partial_rotary_factor\": 0.67, \"use_parallel_residual\": true",
              "\"use_parallel_residual\": attention and MLP side by side is not supported");
    hf_refuse(STABLELM ", \"partial_rotary_factor\": 0.67, \"qk_layernorm\": true",
              "\"qk_layernorm\": a norm for each head of q and k is not supported");
    hf_refuse(STABLELM, "\"partial_rotary_factor\": a rotation of no channel"); /* a quarter of 3 */
    hf_write_tensors(&c, "model.layers.0.input_layernorm.bias", NULL);
    hf_refuse(STABLELM ", \"partial_rotary_factor\": 0.67", "model.layers.0.input_layernorm.bias is missing");
}

/* ---- nanochat: no gains, and the halves of q's and k's heads exchanged */

#define NANOCHAT "\"model_type\": \"nanochat\", \"num_key_value_heads\": 2, \"head_dim\": 6"

static tg_config nanochat_base(void)
{
    tg_config c = hf_config("nanochat");

    c.n_kv_head = 2;
    c.head_dim = 6;
    c.activation = TG_RELU2;
    c.qk_norm = true;
    c.final_logit_softcapping = 15;
    return c;
}

/* The row where the file has row r. */
static size_t nanochat_row(const tg_param *p, size_t r)
{
    const bool rotated = strstr(p->name, "q_proj") || strstr(p->name, "k_proj");

    return rotated ? r / 6 * 6 + (r % 6 + 3) % 6 : r;
}

static void expect_nanochat(const char *members, tg_config want)
{
    tg_float_buffer buffer = {0};
    tg_model_file f;
    const float *x;
    tg_err err = {0};

    hf_write_config(members);
    hf_write_tensors(&want, NULL, NULL);
    CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
    CHECK(small_config_equal(&f.config, &want));
    for (size_t i = 0; i < f.table.n; i++) {
        const tg_param *p = &f.table.entry[i];
        const size_t columns = p->ndim == 2 ? p->shape[1] : 1;

        CHECK_OK(tg_model_file_get(&x, &buffer, &f, i, false, &err), &err);
        for (size_t e = 0; e < p->count; e++) {
            const size_t at = nanochat_row(p, e / columns) * columns + e % columns;

            CHECK(x[e] == (float)i + (float)(at % 100) / 1024);
        }
    }
    free(buffer.x);
    tg_model_file_close(&f);
}

static void nanochat(void)
{
    tg_config c = nanochat_base();

    expect_nanochat(NANOCHAT, c);
    c.final_logit_softcapping = 0;
    c.qkv_bias = c.out_bias = true;
    c.rope_theta = 100000;
    expect_nanochat(NANOCHAT ", \"final_logit_softcapping\": null, \"attention_bias\": true, "
                             "\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 100000.0}",
                    c);
}

static void nanochat_refused(void)
{
    const tg_config c = nanochat_base(), llama = hf_config("llama");

    hf_write_tensors(&c, NULL, NULL);
    hf_refuse(NANOCHAT ", \"final_logit_softcapping\": -1",
              "\"final_logit_softcapping\": a cap that is not above 0");
    hf_refuse(NANOCHAT ", \"hidden_act\": \"relu\"", "\"hidden_act\": \"relu\" is not supported");
    hf_write_tensors(&llama, NULL, NULL);
    hf_refuse(
        "\"model_type\": \"nanochat\", \"head_dim\": 4",
        "model.layers.0.input_layernorm.weight is not a tensor of the family nanochat with this config");
}

int main(void)
{
    if (!hf_begin())
        return 1;
    RUN(configs);
    RUN(defaults);
    RUN(activations);
    RUN(refusals);
    RUN(options);
    RUN(untied);
    RUN(neox);
    RUN(neox_refused);
    RUN(phi3);
    RUN(phi3_refused);
    RUN(stablelm);
    RUN(stablelm_refused);
    RUN(nanochat);
    RUN(nanochat_refused);
    return hf_done();
}
