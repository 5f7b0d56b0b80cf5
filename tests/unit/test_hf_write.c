/*
 * The config.json that is written for the families after GPT-2, and which models are refused.
 * tests/judges/families_write.py compares the numbers of such models with transformers'.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/models/model_format.h"
#include "tests/unit/check.h"
#include "tests/unit/hf_written.h"

/* The config.json, without line ends and what indents the lines. */
static void read_config(char *text, size_t size)
{
    FILE *file = fopen(hf_in_directory("config.json"), "r");
    size_t n = 0;
    bool indent = false;

    CHECK(file != NULL);
    for (int ch; file && (ch = fgetc(file)) != EOF && n < size - 1;) {
        indent = ch == '\n' || (indent && ch == ' ');
        if (!indent)
            text[n++] = (char)ch;
    }
    text[n] = '\0';
    if (file)
        fclose(file);
}

/* ---- what a config.json says: the beginning, then what the class has, then the end */

static void expect(tg_config c, const char *architecture, const char *type, const char *rest)
{
    char got[2048], want[2048];
    tg_model_file f;

    hf_open_model(&f, &c);
    hf_write_directory(&f, &hf_f32);
    read_config(got, sizeof got);
    snprintf(want, sizeof want,
             "{\"architectures\": [\"%sForCausalLM\"],\"model_type\": \"%s\",\"vocab_size\": 256,"
             "\"max_position_embeddings\": 64,\"hidden_size\": %zu,\"intermediate_size\": %zu,"
             "\"num_hidden_layers\": 2,\"num_attention_heads\": 4,%s\"pad_token_id\": null,"
             "\"torch_dtype\": \"float32\"}",
             architecture, type, c.n_embd, c.n_inner, rest);
    CHECK_HAS(got, want);
    CHECK_EQ(strlen(got), strlen(want));
    tg_model_file_close(&f);
}

#define HEADS "\"num_key_value_heads\": 2,\"head_dim\": 6,\"rms_norm_eps\": 1e-06,"
#define UNTIED HEADS "\"tie_word_embeddings\": false,"
#define SILU "\"hidden_act\": \"silu\","
#define ROTATION "\"rope_theta\": 10000.0,\"rope_scaling\": null,"
#define NO_ENDS "\"bos_token_id\": null,\"eos_token_id\": null,"
#define WINDOWS(first, second) "\"layer_types\": [\"" first "_attention\",\"" second "_attention\"],"

static void configs_of_llama(void)
{
    tg_config c = hf_base("llama");

    c.tied = c.qkv_bias = true; /* o_proj gets a bias of zeros */
    c.rope_theta = 500000.5;
    c.rope_scaling = TG_ROPE_LLAMA3;
    c.rope_factor = 8;
    c.rope_high_freq = 4;
    c.rope_ctx = 32;
    c.bos_token = 1;
    c.eos_token = 256;
    expect(c, "Llama", "llama",
           HEADS
           "\"tie_word_embeddings\": true," SILU "\"attention_bias\": true,\"mlp_bias\": false,"
           "\"rope_theta\": 500000.5,\"rope_scaling\": {\"rope_type\": \"llama3\",\"factor\": 8.0,"
           "\"low_freq_factor\": 1.0,\"high_freq_factor\": 4.0,\"original_max_position_embeddings\": 32},"
           "\"bos_token_id\": 0,\"eos_token_id\": 255,");
    c = hf_base("llama");
    c.window = 9;
    c.window_layers = 3;
    expect(c, "Mistral", "mistral", UNTIED SILU ROTATION "\"sliding_window\": 9," NO_ENDS);
    c = hf_base("llama");
    c.n_embd = 14; /* which Llama's own class refuses with 4 heads */
    expect(c, "Mistral", "mistral", UNTIED SILU ROTATION "\"sliding_window\": null," NO_ENDS);
    c = hf_base("llama");
    c.unrotated_layers = 2;
    c.mlp_bias = true;
    expect(c, "SmolLM3", "smollm3",
           UNTIED SILU "\"attention_bias\": false,\"mlp_bias\": true," ROTATION "\"no_rope_layers\": [1,0],"
                       "\"use_sliding_window\": false,\"sliding_window\": null," WINDOWS("full", "full")
                           NO_ENDS);
}

static void configs_of_others(void)
{
    tg_config c = hf_base("qwen2");

    c.window = 9;
    c.window_layers = 2;
    expect(c, "Qwen2", "qwen2",
           UNTIED SILU ROTATION "\"use_sliding_window\": true,\"sliding_window\": 9," WINDOWS(
               "full", "sliding") "\"max_window_layers\": 1," NO_ENDS);
    c = hf_base("qwen3");
    c.qk_norm = true;
    expect(c, "Qwen3", "qwen3",
           UNTIED SILU "\"attention_bias\": false," ROTATION
                       "\"use_sliding_window\": false,\"sliding_window\": null," WINDOWS(
                           "full", "full") "\"max_window_layers\": 2," NO_ENDS);
    expect(hf_base("gemma"), "Gemma", "gemma",
           UNTIED "\"hidden_act\": \"gelu_pytorch_tanh\",\"hidden_activation\": \"gelu_pytorch_tanh\","
                  "\"attention_bias\": false," ROTATION NO_ENDS);
    c = hf_base("olmo2");
    c.qk_norm = true;
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 2.5;
    expect(c, "Olmo2", "olmo2",
           UNTIED SILU "\"attention_bias\": false,\"rope_theta\": 10000.0,\"rope_scaling\": {\"type\": "
                       "\"linear\",\"factor\": 2.5}," NO_ENDS);
}

static void configs_of_gemma(void)
{
#define GEMMA UNTIED "\"hidden_activation\": \"gelu_pytorch_tanh\",\"attention_bias\": false," ROTATION
    tg_config c = hf_base("gemma2");

    c.attn_scale = 1 / sqrt(7);
    c.attn_cap = 50;
    expect(c, "Gemma2", "gemma2",
           GEMMA "\"query_pre_attn_scalar\": 7,\"sliding_window\": 64," WINDOWS(
               "full", "full") "\"attn_logit_softcapping\": 50.0,\"final_logit_softcapping\": null," NO_ENDS);
    c = hf_base("gemma3");
    c.qk_norm = true;
    c.window = 9;
    c.window_layers = 1;
    c.rope_local_theta = 100;
    expect(
        c, "Gemma3", "gemma3_text",
        GEMMA "\"rope_local_base_freq\": 100.0,\"query_pre_attn_scalar\": 6,\"sliding_window\": 9," WINDOWS(
            "sliding", "full") "\"attn_logit_softcapping\": null,\"final_logit_softcapping\": null," NO_ENDS);
}

static void configs_of_neox(void)
{
    tg_config c = hf_base("gpt_neox");

    c.rope_dim = 2;
    c.activation = TG_GELU_ERF;
    c.out_bias = true; /* q, k and v get biases of zeros */
    expect(c, "GPTNeoX", "gpt_neox",
           "\"layer_norm_eps\": 1e-06,\"tie_word_embeddings\": false,\"hidden_act\": "
           "\"gelu\",\"attention_bias\": "
           "true,\"rotary_pct\": 0.6666666666666666,\"rotary_emb_base\": 10000.0,\"rope_scaling\": null,"
           "\"use_parallel_residual\": true," NO_ENDS);
    c.n_embd = 4 * 98; /* 98 (2 / 98) is a little less than 2 */
    c.n_inner = 20;
    expect(c, "GPTNeoX", "gpt_neox",
           "\"layer_norm_eps\": 1e-06,\"tie_word_embeddings\": false,\"hidden_act\": "
           "\"gelu\",\"attention_bias\": "
           "true,\"rotary_pct\": 0.020408163265306124,\"rotary_emb_base\": 10000.0,\"rope_scaling\": null,"
           "\"use_parallel_residual\": true," NO_ENDS);
}

static void configs_of_phi3(void)
{
    tg_config c = hf_base("phi3");

    expect(c, "Phi3", "phi3",
           UNTIED SILU
           "\"rope_theta\": 10000.0,\"partial_rotary_factor\": 1.0,\"sliding_window\": null," NO_ENDS);
    c.rope_dim = 4;
    c.window = 9;
    c.window_layers = 3;
    expect(c, "Phi3", "phi3",
           UNTIED SILU "\"rope_theta\": 10000.0,\"partial_rotary_factor\": 0.6666666666666666,"
                       "\"sliding_window\": 9," NO_ENDS);
}

static void configs_of_stablelm(void)
{
    tg_config c = hf_base("stablelm");

    c.n_embd = 24;
    c.rope_dim = 4;
    c.qkv_bias = true;
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 2;
    expect(c, "StableLm", "stablelm",
           "\"num_key_value_heads\": 2,\"layer_norm_eps\": 1e-06,\"tie_word_embeddings\": false," SILU
           "\"use_qkv_bias\": true,\"qk_layernorm\": false,\"use_parallel_residual\": false,"
           "\"rope_theta\": 10000.0,\"partial_rotary_factor\": 0.6666666666666666,"
           "\"rope_scaling\": {\"rope_type\": \"linear\",\"factor\": 2.0}," NO_ENDS);
}

static void configs_of_nanochat(void)
{
    tg_config c = hf_base("nanochat");

    c.activation = TG_RELU2;
    c.qk_norm = true;
    c.final_logit_softcapping = 15;
    expect(c, "NanoChat", "nanochat",
           UNTIED "\"hidden_act\": \"relu2\",\"attention_bias\": false," ROTATION
                  "\"final_logit_softcapping\": 15.0," NO_ENDS);
}

/* ---- refusals */

static void refuse_with(const tg_config *c, const tg_write_options *o, const char *message)
{
    tg_model_file f;
    tg_notes notes = {0};
    tg_err err = {0};

    hf_open_model(&f, c);
    CHECK_EQ(tg_model_writer_named("hf")->check(&f, o, &notes, &err), TG_EUSAGE);
    CHECK_HAS(err.message, message);
    CHECK(strchr(err.message, '\n') == NULL);
    tg_model_file_close(&f);
}

/* A config with one member changed. */
#define REFUSE(family, member, value, message)                                                               \
    do {                                                                                                     \
        tg_config changed = hf_base(family);                                                                 \
        changed.member = (value);                                                                            \
        refuse_with(&changed, &hf_f32, message);                                                             \
    } while (0)

static void refusals(void)
{
    tg_config c = hf_base("llama");

    REFUSE("llama", rope_dim, 4, "config/rope_dim is 4, but Hugging Face's \"llama\" can only have 0");
    REFUSE("llama", attn_cap, 2.5, "config/attn_cap is 2.5, but Hugging Face's \"llama\" can only have 0");
    REFUSE("llama", attn_scale, 0.25, "config/attn_scale is 0.25, but");
    REFUSE("llama", embed_scale, 2, "config/embed_scale is 2, but Hugging Face's \"llama\" can only have 1");
    REFUSE("llama", norm_offset, 1, "config/norm_offset is 1, but");
    REFUSE("llama", qk_norm, true, "config/qk_norm is 1, but Hugging Face's \"llama\" can only have 0");
    REFUSE("qwen2", out_bias, true, "config/out_bias is 1, but Hugging Face's \"qwen2\" can only have 0");
    REFUSE("qwen2", unrotated_layers, 1, "config/unrotated_layers is 1, but Hugging Face's \"qwen2\"");
    REFUSE("nanochat", qk_norm, false,
           "config/qk_norm is 0, but Hugging Face's \"nanochat\" can only have 1");
    REFUSE("qwen3", qk_norm, false, "config/qk_norm is 0, but Hugging Face's \"qwen3\" can only have 1");
    REFUSE("gemma", activation, TG_GELU_ERF,
           "config/activation is gelu, but Hugging Face's \"gemma\" can only "
           "have gelu_new");
    REFUSE("gemma", norm_offset, 0.25,
           "config/norm_offset is 0.25, but Hugging Face's \"gemma\" can only have 1");
    c = hf_base("gemma");
    c.norm_offset = 0; /* less 1, no type of 16 bits holds the gains */
    refuse_with(&c, &(tg_write_options){.type = TG_WRITE_BF16},
                "config/norm_offset is 0, but Hugging Face's");
    c = hf_base("llama");
    REFUSE("gemma2", attn_scale, 1 / sqrt(6.5),
           "config/attn_scale is 0.39223227, but Hugging Face's "
           "\"gemma2\" needs 1 / sqrt(x) of an integer x");
    REFUSE("gemma2", n_embd, 14, "config/embed_scale is 3.4641"); /* no longer the root of the width */
    REFUSE("gemma2", qk_norm, true, "config/qk_norm is 1, but");
    c.window = 9;
    c.window_layers = 1;
    refuse_with(&c, &hf_f32,
                "config/window_layers is 1, but Hugging Face's \"mistral\" has the window in all "
                "layers or in none");
    c.window_layers = 3;
    c.mlp_bias = true;
    refuse_with(&c, &hf_f32, "config/mlp_bias is 1, but Hugging Face's \"mistral\" can only have 0");
    c = hf_base("phi3");
    c.window = 9;
    c.window_layers = 1;
    refuse_with(&c, &hf_f32, "config/window_layers is 1, but Hugging Face's \"phi3\" has the window in all");
    REFUSE("phi3", rope_scaling, TG_ROPE_LINEAR,
           "config/rope_scaling is linear, but Hugging Face's \"phi3\" can only have none");
    REFUSE("phi3", qkv_bias, true, "config/qkv_bias is 1, but Hugging Face's \"phi3\" can only have 0");
    c = hf_base("gemma3");
    c.qk_norm = true;
    c.attn_cap = 5;
    refuse_with(&c, &hf_f32, "config/attn_cap is 5, but Hugging Face's \"gemma3_text\" can only have 0");
    c.attn_cap = 0;
    c.window = 9;
    c.window_layers = 1;
    c.rope_scaling = TG_ROPE_LINEAR;
    refuse_with(&c, &hf_f32,
                "config/rope_scaling is linear, but Hugging Face's \"gemma3_text\" does not scale the "
                "rotation of layers with a window");
    c.rope_scaling = TG_ROPE_PLAIN;
    c.n_embd = 14;
    c.embed_scale = sqrt(14);
    refuse_with(&c, &hf_f32,
                "config/n_embd is 14, but Hugging Face's \"gemma3_text\" needs a multiple of "
                "config/n_head, 4");
}

/* transformers rounds sqrt(C), which Gemma has for a scale, to the type of the weights. */
static void rounded_scale(void)
{
    const tg_write_options bf16 = {.type = TG_WRITE_BF16}, f16 = {.type = TG_WRITE_F16};
    tg_config c = hf_base("gemma");

    c.embed_scale = 3.46875;
    refuse_with(&c, &hf_f32,
                "config/embed_scale is 3.46875, but Hugging Face's \"gemma\" has 3.46410155 with weights of "
                "this type: expected --dtype bf16");
    refuse_with(&c, &f16, "has 3.46484375 with weights of this type: expected --dtype bf16");
    c.embed_scale = 3.46484375;
    refuse_with(&c, &hf_f32, "expected --dtype f16");
    c.embed_scale = 3.5;
    refuse_with(&c, &bf16, "config/embed_scale is 3.5, but Hugging Face's \"gemma\" can only have 3.4641");
}

/* A setting that has no effect is no difference. */
static void without_effect(void)
{
    tg_config c = hf_base("llama");

    c.window_layers = 1;    /* of a window of 0 */
    c.unrotated_layers = 4; /* of two layers */
    c.rope_dim = 6;
    c.rope_local_theta = 5;
    c.attn_scale = 1 / sqrt(6);
    expect(c, "Llama", "llama",
           UNTIED SILU "\"attention_bias\": false,\"mlp_bias\": false," ROTATION NO_ENDS);
    c = hf_base("llama");
    c.window = 64; /* the context */
    c.window_layers = 1;
    expect(c, "Llama", "llama",
           UNTIED SILU "\"attention_bias\": false,\"mlp_bias\": false," ROTATION NO_ENDS);
}

static void options(void)
{
    const tg_config c = hf_base("llama");
    tg_write_options o = {.split_qkv = true};

    refuse_with(&c, &o, "--split-qkv is for GPT-2: Hugging Face's \"llama\" has separate matrices anyway");
    o = (tg_write_options){.type = TG_WRITE_Q8_0};
    refuse_with(&c, &o, "a Hugging Face checkpoint has no type q8_0: expected f32, f16 or bf16");
}

int main(void)
{
    if (!hf_begin())
        return 1;
    RUN(configs_of_llama);
    RUN(configs_of_others);
    RUN(configs_of_gemma);
    RUN(configs_of_neox);
    RUN(configs_of_phi3);
    RUN(configs_of_stablelm);
    RUN(configs_of_nanochat);
    RUN(refusals);
    RUN(rounded_scale);
    RUN(without_effect);
    RUN(options);
    return hf_done();
}
