/* Models of the families after GPT-2 that llama.cpp cannot hold: what a message says of them. */
#include <stdlib.h>

#include "tests/unit/check.h"
#include "tests/unit/gguf_written.h"
#include "tests/unit/hf_written.h"

static void refuse_with(tg_config c, const tg_write_options *o, const char *what)
{
    tg_notes notes = {0};
    tg_model_file f;
    tg_err err = {0};

    hf_open_model(&f, &c);
    CHECK_EQ(gguf_check(&f, o, &notes, &err), TG_EUSAGE);
    CHECK_HAS(err.message, what);
    tg_notes_free(&notes);
    tg_model_file_close(&f);
}

static void refuse(tg_config c, const char *what)
{
    refuse_with(c, &hf_f32, what);
}

static tg_config smollm3(void)
{
    tg_config c = gguf_base("llama");

    c.n_layer = 4;
    c.unrotated_layers = 8;
    return c;
}

static void refusals(void)
{
    tg_config c = gguf_base("llama");

    c.window = 8;
    c.window_layers = 1;
    refuse(c, "config/window is 8, but llama.cpp's \"llama\" can only have 0");
    c = gguf_base("llama");
    c.unrotated_layers = 2;
    refuse(c,
           "config/unrotated_layers is 2: layer 1 does not rotate, but llama.cpp's \"smollm3\" rotates all "
           "layers except every 4th");
    c.n_layer = 4;
    c.unrotated_layers = 0xA; /* layers 1 and 3 */
    refuse(c, "config/unrotated_layers is 10: layer 1 does not rotate, but");
    c.n_layer = 8;
    c.unrotated_layers = 8; /* not layer 7 */
    refuse(c, "config/unrotated_layers is 8: layer 7 rotates, but llama.cpp's \"smollm3\" rotates all");
    c.n_layer = 68; /* layer 67 is not in the set */
    c.unrotated_layers = 0x8888888888888888;
    refuse(c, "config/unrotated_layers is 9838263505978427528: layer 67 rotates, but");
    c = smollm3();
    c.out_bias = true;
    refuse(c, "config/out_bias is 1, but llama.cpp's \"smollm3\" can only have 0");
    c = smollm3();
    c.window = 8;
    c.window_layers = 8;
    refuse(c, "config/window is 8, but llama.cpp's \"smollm3\" can only have 0");
    c = gguf_base("llama");
    c.qk_norm = true;
    refuse(c, "config/qk_norm is 1, but llama.cpp's \"llama\" can only have 0");
    c = gguf_base("llama");
    c.rope_dim = 4;
    refuse(c, "config/rope_dim is 4, but llama.cpp's \"llama\" can only have 0");
    c = gguf_base("llama");
    c.activation = TG_GELU_ERF;
    refuse(c, "config/activation is gelu, but llama.cpp's \"llama\" can only have silu");
    c = gguf_base("llama");
    c.embed_scale = 2;
    refuse(c, "config/embed_scale is 2, but llama.cpp's \"llama\" can only have 1");
    c = gguf_base("qwen3");
    c.qk_norm = false;
    refuse(c, "config/qk_norm is 0, but llama.cpp's \"qwen3\" can only have 1");
    c = gguf_base("qwen3");
    c.out_bias = true;
    refuse(c, "config/out_bias is 1, but llama.cpp's \"qwen3\" can only have 0");
    c = gguf_base("qwen2");
    c.n_embd = 12;
    refuse(c, "config/head_dim is 6, but llama.cpp's \"qwen2\" needs config/n_embd / config/n_head, 12 / 4");
    c = gguf_base("gemma");
    c.activation = TG_GELU_ERF;
    refuse(c, "config/activation is gelu, but llama.cpp's \"gemma\" can only have gelu_new");
    c = gguf_base("gemma");
    c.tied = false;
    refuse(c, "config/tied is 0, but llama.cpp's \"gemma\" can only have 1");
    c = gguf_base("gemma2");
    c.attn_cap = 0;
    refuse(c, "config/attn_cap is 0, but llama.cpp's \"gemma2\" needs a cap");
    c = gguf_base("gemma2");
    c.final_logit_softcapping = 0;
    refuse(c, "config/final_logit_softcapping is 0, but llama.cpp's \"gemma2\" needs a cap");
    c = gguf_base("gemma3");
    c.attn_scale = 0.5;
    refuse(c, "config/attn_scale is 0.5, but llama.cpp's \"gemma3\" can only have 0");
    c = gguf_base("phi3");
    c.window = 8;
    c.window_layers = 1;
    refuse(c, "config/window_layers is 1, but llama.cpp's \"phi3\" has the window in all layers or in none");
    c.window_layers = 3;
    c.rope_local_theta = 100;
    refuse(c, "config/rope_local_theta is 100, but llama.cpp's \"phi3\" can only have 0");
    c = gguf_base("phi3");
    c.n_embd = 12;
    refuse(c, "config/head_dim is 6, but llama.cpp's \"phi3\" needs config/n_embd / config/n_head, 12 / 4");
    refuse(gguf_base("nanochat"),
           "a GGUF file has no names for the tensors of a model of the family nanochat");
    c = gguf_base("gpt_neox");
    c.activation = TG_GELU_TANH;
    refuse(c, "config/activation is gelu_new, but llama.cpp's \"gptneox\" can only have gelu");
}

static void refusals_of_rotation(void)
{
    tg_config c = gguf_base("qwen2");

    c.rope_scaling = TG_ROPE_LLAMA3;
    c.rope_factor = 8;
    c.rope_ctx = 64;
    c.rope_high_freq = 4;
    refuse(c, "config/rope_scaling is llama3, but llama.cpp's \"qwen2\" can only have none or linear");
    c = smollm3();
    c.rope_scaling = TG_ROPE_LLAMA3;
    refuse(c, "config/rope_scaling is llama3, but llama.cpp's \"smollm3\" can only have none or linear");
    c = gguf_base("stablelm");
    c.rope_scaling = TG_ROPE_LLAMA3;
    refuse(c, "config/rope_scaling is llama3, but llama.cpp's \"stablelm\" can only have none or linear");
    c = gguf_base("gemma3");
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 8;
    c.window = 8;
    c.window_layers = 1;
    refuse(c, "config/rope_scaling is linear, but llama.cpp's \"gemma3\" does not scale the rotation of");
    c = gguf_base("gemma2");
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 8;
    c.rope_local_theta = 50;
    refuse(c, "config/rope_scaling is linear, but llama.cpp's \"gemma2\" scales also the rotation of");
}

/* Weights of a type of 16 bits have sqrt(C) rounded to it, which llama.cpp does not know. */
static void rounded_scale(void)
{
    const tg_write_options o = {.lossy = true};
    tg_config c = gguf_base("gemma");
    tg_notes notes = {0};
    tg_model_file f;
    tg_err err = {0};

    c.n_embd = 12;
    c.embed_scale = 3.46875;
    refuse(c,
           "llama.cpp differs: it multiplies the vectors of tokens with 3.46410162, the model with 3.46875 "
           "(--lossy accepts that)");
    hf_open_model(&f, &c);
    CHECK_OK(gguf_check(&f, &o, &notes, &err), &err);
    CHECK(notes.n > 0);
    CHECK_HAS(notes.line[0], "llama.cpp differs: it multiplies the vectors of tokens with 3.46410162, ");
    tg_notes_free(&notes);
    tg_model_file_close(&f);
    c.embed_scale = 3.5;
    refuse(c, "config/embed_scale is 3.5, but llama.cpp's \"gemma\" can only have 3.4641");
}

static void refused_options(void)
{
    const tg_write_options o = {.split_qkv = true};

    refuse_with(gguf_base("llama"), &o,
                "--split-qkv is for GPT-2: llama.cpp's \"llama\" has separate matrices anyway");
    refuse_with(gguf_base("gpt_neox"), &o,
                "--split-qkv is for GPT-2: llama.cpp's \"gptneox\" has q, k and v joined");
}

int main(void)
{
    CHECK(mkdtemp(hf_directory) != NULL);
    RUN(refusals);
    RUN(refusals_of_rotation);
    RUN(rounded_scale);
    RUN(refused_options);
    return hf_done();
}
