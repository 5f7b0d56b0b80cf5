/*
 * Hugging Face's directories of models whose layers differ, by a window or by rotation, and of Gemma and OLMo
 * 2: what their configs say, and what they must not say.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/check.h"
#include "tests/unit/hf_read.h"

#define MISTRAL "\"model_type\": \"mistral\", \"num_key_value_heads\": 4, \"head_dim\": 4"
#define QWEN2                                                                                                \
    "\"model_type\": \"qwen2\", \"num_key_value_heads\": 4, \"head_dim\": 4, \"use_sliding_window\": true"
#define SMOLLM3 "\"model_type\": \"smollm3\", \"num_key_value_heads\": 4, \"head_dim\": 4"
#define TYPES(a, b) ", \"layer_types\": [\"" a "_attention\", \"" b "_attention\"]"

/* Which layers have a window, and of how many keys. */
static void windows(void)
{
    static const struct {
        const char *members;
        size_t window;
        uint64_t layers;
    } cases[] = {
        {MISTRAL ", \"sliding_window\": 8", 8, 3},
        {MISTRAL ", \"sliding_window\": 63", 63, 3},
        {MISTRAL ", \"sliding_window\": 64", 0, 0},
        {MISTRAL ", \"sliding_window\": null", 0, 0},
        {MISTRAL, 0, 0},
        {MISTRAL ", \"sliding_window\": 8" TYPES("full", "sliding"), 8, 2},
        {QWEN2 ", \"sliding_window\": 8", 0, 0},
        {QWEN2 ", \"sliding_window\": 8, \"max_window_layers\": 1", 8, 2},
        {QWEN2 ", \"sliding_window\": 8, \"max_window_layers\": 0", 8, 3},
        {QWEN2 ", \"sliding_window\": null, \"max_window_layers\": 0", 0, 0},
        {QWEN2 ", \"max_window_layers\": 0", 0, 0},
        {QWEN2 ", \"sliding_window\": 8, \"max_window_layers\": 0" TYPES("sliding", "full"), 8, 1},
        {QWEN2 ", \"sliding_window\": 8" TYPES("full", "full"), 0, 0},
        {QWEN2 ", \"sliding_window\": 64" TYPES("sliding", "full"), 0, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tg_config c = hf_config(strstr(cases[i].members, "qwen2") ? "qwen2" : "llama");

        c.head_dim = 4;
        c.qkv_bias = strstr(cases[i].members, "qwen2") != NULL;
        c.window = cases[i].window;
        c.window_layers = cases[i].layers;
        hf_expect(cases[i].members, c);
    }
}

/* SmolLM3: layers that do not rotate, which are those with the window. */
static void unrotated(void)
{
    tg_config c = hf_config("llama");

    c.head_dim = 4;
    c.rope_theta = 2e6;
    c.tied = true;
    hf_expect(SMOLLM3 ", \"sliding_window\": 8", c);
    c.unrotated_layers = 2;
    hf_expect(SMOLLM3 ", \"no_rope_layer_interval\": 2", c);
    c.unrotated_layers = 1;
    hf_expect(SMOLLM3 ", \"no_rope_layers\": [0, 1, 0]", c);
    c.window = 8;
    c.window_layers = 1;
    hf_expect(SMOLLM3 ", \"no_rope_layers\": [0, 1], \"use_sliding_window\": true, \"sliding_window\": 8", c);
    c.window_layers = 2;
    hf_expect(SMOLLM3
              ", \"no_rope_layers\": [0, 1], \"use_sliding_window\": true, \"sliding_window\": 8" TYPES(
                  "full", "sliding"),
              c);
}

static tg_config base_gemma(const char *family)
{
    tg_config c = hf_config(family);

    c.head_dim = 4;
    c.activation = TG_GELU_TANH;
    c.tied = true;
    c.norm_offset = 1;
    c.embed_scale = sqrt(12);
    return c;
}

#define GEMMA "\"model_type\": \"gemma\", \"num_key_value_heads\": 4, \"head_dim\": 4"
#define GEMMA2                                                                                               \
    "\"model_type\": \"gemma2\", \"head_dim\": 4, \"sliding_window\": 8, \"query_pre_attn_scalar\": 4"
#define GEMMA3 "\"model_type\": \"gemma3_text\", \"head_dim\": 4"

static void gemmas(void)
{
    tg_config c = base_gemma("gemma");

    hf_expect(GEMMA, c);
    hf_expect(GEMMA ", \"hidden_act\": \"gelu\", \"hidden_activation\": null", c);
    hf_expect(GEMMA ", \"hidden_act\": \"gelu\", \"hidden_activation\": \"gelu_pytorch_tanh\"", c);
    c.qkv_bias = c.out_bias = true;
    c.tied = false;
    hf_expect(GEMMA ", \"attention_bias\": true, \"tie_word_embeddings\": false", c);
    c = base_gemma("gemma2");
    c.window = 8;
    c.window_layers = 1;
    c.attn_cap = 50;
    c.final_logit_softcapping = 30;
    hf_expect(GEMMA2, c);
    c.activation = TG_GELU_ERF;
    c.attn_scale = 0.125;
    c.attn_cap = 2.5;
    c.final_logit_softcapping = 0;
    c.window = c.window_layers = 0;
    hf_expect("\"model_type\": \"gemma2\", \"head_dim\": 4, \"query_pre_attn_scalar\": 64, "
              "\"attn_logit_softcapping\": 2.5, "
              "\"final_logit_softcapping\": null, \"hidden_act\": \"silu\", \"hidden_activation\": \"gelu\"",
              c);
}

static tg_config base_gemma3(void)
{
    tg_config c = base_gemma("gemma3");

    c.qk_norm = true;
    c.attn_scale = 0.0625;
    c.rope_theta = 1e6;
    c.rope_local_theta = 1e4;
    c.window = 4096;
    c.window_layers = 3;
    return c;
}

/* Its window counts even where it is as long as the context: such layers have a base of their own. */
static void gemma3(void)
{
    tg_config c = base_gemma3();

    hf_expect(GEMMA3, c);
    c.window_layers = 1;
    hf_expect(GEMMA3 ", \"sliding_window_pattern\": 2", c);
    c.window_layers = 2;
    c.window = 8;
    c.rope_theta = 500;
    c.rope_local_theta = 50;
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 8;
    hf_expect(GEMMA3
              ", \"sliding_window\": 8, \"rope_theta\": 500, \"rope_local_base_freq\": 50, \"rope_scaling\": "
              "{\"rope_type\": \"linear\", \"factor\": 8}" TYPES("full", "sliding"),
              c);
    hf_expect(
        GEMMA3
        ", \"sliding_window\": 8, \"rope_parameters\": {\"full_attention\": {\"rope_type\": \"linear\", "
        "\"factor\": 8, \"rope_theta\": 500}, \"sliding_attention\": {\"rope_type\": \"default\", "
        "\"rope_theta\": 50}}" TYPES("full", "sliding"),
        c);
    c.window = c.window_layers = 0;
    hf_expect(GEMMA3
              ", \"sliding_window\": 8, \"rope_parameters\": {\"full_attention\": {\"type\": \"linear\", "
              "\"factor\": 8, \"rope_theta\": 500}, \"sliding_attention\": {\"rope_theta\": 50}}" TYPES(
                  "full", "full"),
              c);
}

/* A model of texts and images: settings in an object, names with one of two prefixes, tensors of images. */
static void text_of_gemma3(void)
{
    static const char members[] =
        "{\"model_type\": \"gemma3\", \"vocab_size\": 7, \"text_config\": {\"hidden_size\": 24, "
        "\"intermediate_size\": 20, \"num_hidden_layers\": 2, \"head_dim\": 4, \"vocab_size\": 256}}";
    static const char *const cases[][3] = {
        {"language_model.", "", "vision_tower.a.weight"},
        {"language_model.", "", "multi_modal_projector.a.weight"},
        {"", "language_model.", "model.vision_tower.a.weight"},
        {"", "language_model.", "model.multi_modal_projector.a.weight"},
    };
    tg_config c = base_gemma3();

    c.n_embd = 24;
    c.n_head = 8;
    c.n_ctx = 131072;
    c.embed_scale = sqrt(24);
    for (size_t i = 0; i < 4; i++) {
        FILE *f = fopen(hf_in_directory("config.json"), "w");

        CHECK(f && fputs(members, f) >= 0 && fclose(f) == 0);
        hf_stored.prefix = cases[i][0];
        hf_stored.inner = cases[i][1];
        hf_stored.besides = cases[i][2];
        hf_expect_read(c);
    }
    hf_stored.prefix = hf_stored.inner = "";
    hf_stored.besides = NULL;
}

/* What the classes assume of these. */
static void defaults(void)
{
    tg_config c = base_gemma("gemma");

    c.n_embd = 64;
    c.n_head = 32;
    c.n_kv_head = 16;
    c.head_dim = 256;
    c.n_ctx = 8192;
    c.embed_scale = 8;
    hf_write_json(FEW, "\"gemma\"");
    hf_expect_read(c);
    c.family = hf_config("gemma2").family;
    c.n_kv_head = 4;
    c.attn_cap = 50;
    c.final_logit_softcapping = 30;
    c.window = 4096;
    c.window_layers = 1;
    hf_write_json(FEW, "\"gemma2\"");
    hf_expect_read(c);
    hf_write_json("", "\"model_type\": \"gemma3\", \"text_config\": {}");
    hf_refuse_read("model.embed_tokens.weight has shape (256, 64), expected (262208, 2304)");
    hf_write_json("", "\"model_type\": \"gemma3_text\", \"vocab_size\": 256, \"hidden_size\": 64, "
                      "\"num_hidden_layers\": 1, \"intermediate_size\": 20");
    hf_refuse_read("q_proj.weight has shape (8192, 64), expected (2048, 64)");
    c = hf_config("llama");
    c.n_embd = 64;
    c.n_head = 32;
    c.n_kv_head = 4;
    c.head_dim = 2;
    c.n_ctx = 32768;
    c.rope_theta = 2e6;
    c.tied = true;
    hf_write_json(FEW, "\"smollm3\"");
    hf_expect_read(c);
    c.family = hf_config("olmo2").family;
    c.n_kv_head = 32;
    c.n_ctx = 2048;
    c.rope_theta = 10000;
    c.tied = false;
    c.qk_norm = true;
    c.layer_norm_epsilon = 1e-5;
    hf_write_json(FEW, "\"olmo2\"");
    hf_expect_read(c);
}

static void olmo2(void)
{
    tg_config c = hf_config("olmo2");

    c.head_dim = 4;
    c.layer_norm_epsilon = 1e-5;
    c.qk_norm = true;
    hf_expect("\"model_type\": \"olmo2\", \"head_dim\": 4, \"mlp_bias\": true", c);
}

/* transformers rounds the scale of Gemma's embedding to the type of the weights. */
static void rounded_scale(void)
{
    static const struct {
        tg_dtype dtype;
        double scale; /* of sqrt(12) = 3.46410 */
    } cases[] = {{{'B', 2}, 3.46875}, {{'f', 2}, 3.46484375}};
    const tg_config c = base_gemma("gemma");

    for (size_t i = 0; i < 2; i++) {
        tg_model_file f;
        tg_err err = {0};

        hf_stored.dtype = cases[i].dtype;
        hf_write_tensors(&c, NULL, NULL);
        hf_write_config(GEMMA);
        CHECK_OK(tg_model_file_open(&f, hf_directory, NULL, &err), &err);
        CHECK(f.config.embed_scale == cases[i].scale);
        tg_model_file_close(&f);
    }
    hf_stored.dtype = TG_F32;
}

/* What the layers and scores of some families must not be. */
static void refusals(void)
{
#define ROPE(members) ", \"rope_parameters\": {" members "}"
    hf_refuse(MISTRAL ", \"sliding_window\": 0", "\"sliding_window\": a window of 0 is not supported");
    hf_refuse(MISTRAL TYPES("full", "chunked"), "\"layer_types\": \"chunked_attention\" is not supported");
    hf_refuse(MISTRAL ", \"layer_types\": [\"full_attention\"]",
              "\"layer_types\" has 1 entries for 2 layers");
    hf_refuse(MISTRAL ", \"layer_types\": [1, 2]", "config.json: line 1");
    hf_refuse(MISTRAL ", \"sliding_window\": null" TYPES("full", "sliding"),
              "\"sliding_window\": null for layers with a window");
    hf_refuse("\"model_type\": \"qwen2\", \"sliding_window\": 8" TYPES("full", "sliding"),
              "null for layers with");
    hf_refuse(LLAMA ROPE("\"full_attention\": {}"),
              "\"rope_parameters\": a rotation for each type of layers is not supported");
    hf_refuse(SMOLLM3 ", \"no_rope_layer_interval\": 0", "\"no_rope_layer_interval\": 0 is not supported");
    hf_refuse(SMOLLM3 ", \"no_rope_layers\": [1]", "\"no_rope_layers\" has 1 entries for 2 layers");
    hf_refuse(GEMMA ", \"use_bidirectional_attention\": true", "\"use_bidirectional_attention\": true");
    hf_refuse(GEMMA ", \"hidden_act\": \"silu\", \"hidden_activation\": \"gelu\"",
              "another value than that of");
    hf_refuse(GEMMA2 ", \"attention_bias\": true", "\"attention_bias\": true is not supported");
    hf_refuse("\"model_type\": \"gemma2\", \"sliding_window\": null", "null for layers with a window");
    hf_refuse("\"model_type\": \"gemma2\", \"query_pre_attn_scalar\": 0",
              "\"query_pre_attn_scalar\": a number that is");
    hf_refuse(GEMMA2 ", \"final_logit_softcapping\": 0",
              "\"final_logit_softcapping\": a cap that is not above 0");
    hf_refuse(GEMMA3 ", \"attn_logit_softcapping\": 50.0",
              "\"attn_logit_softcapping\": a cap of this family");
    hf_refuse(GEMMA3 ", \"final_logit_softcapping\": 30.0",
              "\"final_logit_softcapping\": a cap of this family");
    hf_refuse(GEMMA3 ", \"sliding_window_pattern\": 0", "\"sliding_window_pattern\": 0");
    hf_refuse(GEMMA3 ROPE("\"sliding_attention\": {\"rope_type\": \"linear\", \"factor\": 2}"),
              "\"sliding_attention\": scaling \"linear\" is not supported");
    hf_refuse(GEMMA3 ROPE("\"full_attention\": {\"partial_rotary_factor\": 0.5}"),
              "a rotation of part of a head");
    hf_refuse("\"model_type\": \"gemma3\"", "\"text_config\" is missing");
    hf_refuse("\"model_type\": \"gemma3\", \"text_config\": 5", "config.json: line 1");
    hf_refuse("\"model_type\": \"olmo2\", \"head_dim\": 4, \"attention_bias\": true",
              "\"attention_bias\": true");
}

/* A window where the config leaves it to the class. */
static void assumed_windows(void)
{
    tg_config c = hf_config("llama");

    c.n_embd = 64;
    c.n_head = 32;
    c.n_kv_head = 8;
    c.head_dim = 2;
    c.n_ctx = 4097;
    c.window = 4096;
    c.window_layers = 3;
    hf_write_json(FEW, "\"mistral\", \"max_position_embeddings\": 4097");
    hf_expect_read(c);
    c.family = hf_config("qwen2").family;
    c.qkv_bias = true;
    c.n_kv_head = 32;
    c.window_layers = 2;
    hf_write_json(FEW, "\"qwen2\", \"max_position_embeddings\": 4097, \"use_sliding_window\": true, "
                       "\"max_window_layers\": 1");
    hf_expect_read(c);
}

/* The library tells 64 layers apart. */
static void many_layers(void)
{
#define MANY(n)                                                                                              \
    "\"hidden_size\": 64, \"intermediate_size\": 20, \"num_attention_heads\": 32, \"vocab_size\": 256, "     \
    "\"num_hidden_layers\": " n ", \"model_type\": "
    static const struct {
        const char *sizes, *members, *message;
    } cases[] = {
        {MANY("64"), "\"mistral\"", "is not a tensor of the family llama"},
        {MANY("65"), "\"mistral\", \"max_position_embeddings\": 4096", "is not a tensor of the family llama"},
        {MANY("65"), "\"mistral\"",
         "\"sliding_window\": a window in layer 64, not one of the first 64, is not supported"},
        {MANY("9999999999"), "\"mistral\"", "a window in layer 64, not one of the first 64,"},
        {MANY("68"), "\"smollm3\"", "\"no_rope_layer_interval\": a layer without rotation in layer 67"},
    };

    hf_write_tensors(&(tg_config){.n_layer = 1, .n_head = 4, .n_embd = 4, .vocab_size = 4, .n_ctx = 4}, NULL,
                     NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hf_write_json(cases[i].sizes, cases[i].members);
        hf_refuse_read(cases[i].message);
    }
}

int main(void)
{
    if (!hf_begin())
        return 1;
    RUN(windows);
    RUN(assumed_windows);
    RUN(unrotated);
    RUN(gemmas);
    RUN(gemma3);
    RUN(text_of_gemma3);
    RUN(olmo2);
    RUN(defaults);
    RUN(rounded_scale);
    RUN(refusals);
    RUN(many_layers);
    return hf_done();
}
