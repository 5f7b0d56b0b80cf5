/*
 * The GGUF files that are written for the families after GPT-2: reading them back gives the same parameters
 * and a config that computes the same.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/gguf.h"
#include "tests/unit/check.h"
#include "tests/unit/gguf_written.h"
#include "tests/unit/hf_written.h"

/* ---- there and back */

static const float *load(tg_float_buffer *buffer, const tg_model_file *f, size_t i)
{
    const float *x;
    tg_err err = {0};

    CHECK_OK(tg_model_file_get(&x, buffer, f, i, false, &err), &err);
    return x;
}

/* The same values, bit for bit; the gains of the second have the first's offset added.  Of parameters that
 * the first lacks, zeros. */
static void compare(const tg_model_file *a, const tg_model_file *b)
{
    tg_float_buffer of_a = {0}, of_b = {0};

    for (size_t i = 0; i < b->table.n; i++) {
        const tg_param *p = &b->table.entry[i];
        const size_t j = tg_params_index(&a->table, p->kind, p->layer);
        const float *x = j < a->table.n ? load(&of_a, a, j) : NULL, *y = load(&of_b, b, i);
        const float offset = p->use == TG_USE_NORM ? (float)a->config.norm_offset : 0;

        for (size_t e = 0; e < p->count; e++)
            CHECK(y[e] == (x ? x[e] + offset : 0));
    }
    free(of_a.x);
    free(of_b.x);
}

static void same_config(const tg_config *got, const tg_config *want)
{
    CHECK_EQ(got->family, want->family);
    CHECK_EQ(got->bos_token, want->bos_token);
    CHECK_EQ(got->eos_token, want->eos_token);
    CHECK_EQ(got->add_bos, want->add_bos);
    for (size_t i = 0; i < TG_CONFIG_MEMBERS; i++)
        if (tg_config_has(want, i))
            CHECK(tg_field_equal(&tg_config_fields.row[i], got, want));
}

/* A model of config c is read back as one of config `want`, but for norm_offset. */
static void round_trip(tg_config c, tg_config want)
{
    tg_model_file a, b;
    tg_err err = {0};

    hf_open_model(&a, &c);
    gguf_write_file(&a, &hf_f32);
    CHECK_OK(tg_model_file_open(&b, hf_in_directory("model.gguf"), NULL, &err), &err);
    want.norm_offset = 0;
    same_config(&b.config, &want);
    CHECK(b.notes.n == 0);
    compare(&a, &b);
    tg_model_file_close(&a);
    tg_model_file_close(&b);
}

static void same(tg_config c)
{
    round_trip(c, c);
}

static void families(void)
{
    static const char *const names[] = {"llama",  "qwen2", "qwen3",    "gemma", "gemma2",
                                        "gemma3", "olmo2", "gpt_neox", "phi3",  "stablelm"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        tg_config c = gguf_base(names[i]);

        same(c);
        c.tied = true;
        c.bos_token = 3;
        c.eos_token = 5;
        same(c);
        c.rope_scaling = TG_ROPE_LINEAR;
        c.rope_factor = 2.5;
        c.layer_norm_epsilon = 0.003;
        same(c);
    }
}

static void settings_of_llama(void)
{
    tg_config c = gguf_base("llama"), want;

    c.out_bias = c.mlp_bias = c.qkv_bias = true;
    c.norm_offset = 0.25;
    c.attn_scale = 1 / sqrt(6);
    want = c;
    want.attn_scale = 0;
    round_trip(c, want);
    c = gguf_base("llama");
    c.rope_scaling = TG_ROPE_LLAMA3;
    c.rope_factor = 8;
    c.rope_ctx = 64;
    c.rope_high_freq = 4;
    c.head_dim = 16;
    same(c);
    c = gguf_base("llama");
    c.rope_dim = 6; /* all channels */
    c.window = 64;  /* as the context */
    c.window_layers = 3;
    round_trip(c, gguf_base("llama"));
    c = gguf_base("phi3");
    c.rope_dim = 4;
    same(c);
    c.rope_dim = 6;
    round_trip(c, gguf_base("phi3"));
}

/* Every fourth layer of SmolLM3 does not rotate. */
static void unrotated(void)
{
    tg_config c = gguf_base("llama"), want;

    c.n_layer = 9;
    c.unrotated_layers = 0x88;
    same(c);
    c.tied = c.qkv_bias = true;
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 2.5;
    same(c);
    c.n_layer = 3;
    c.unrotated_layers = 0xF8; /* of layers that it lacks */
    want = c;
    want.unrotated_layers = 0;
    round_trip(c, want);
}

/* What the file has besides is zeros. */
static void biases_are_added(void)
{
    tg_config c = gguf_base("qwen2");

    c.qkv_bias = false;
    round_trip(c, gguf_base("qwen2"));
    c = gguf_base("gpt_neox");
    c.qkv_bias = c.out_bias = false;
    round_trip(c, gguf_base("gpt_neox"));
}

static void windows(void)
{
    tg_config c = gguf_base("gemma2"), want;

    c.window_layers = 2; /* another pattern */
    same(c);
    c.rope_local_theta = 50;
    same(c);
    c = want = gguf_base("gemma2");
    c.window = c.window_layers = 0;
    want.window = 64;
    round_trip(c, want);
    c = gguf_base("gemma3");
    c.n_layer = 7;
    c.window = 8;
    c.window_layers = 0x5F;
    c.rope_local_theta = 100;
    same(c);
    c.window_layers = 0x11;
    same(c);
    c.rope_theta = 500;
    want = c;
    c.rope_local_theta = 0;
    want.rope_local_theta = 500;
    round_trip(c, want);
    c = gguf_base("olmo2");
    c.n_layer = 4;
    c.window = 8;
    c.window_layers = 7;
    c.rope_local_theta = 10000;
    same(c);
}

/* llama.cpp reads Phi-3's and does not use it: there is a note. */
static void unused_window(void)
{
    tg_config c = gguf_base("phi3");
    tg_model_file a, b;
    tg_notes notes = {0};
    tg_err err = {0};

    c.rope_dim = 4;
    c.window = 8;
    c.window_layers = 3;
    hf_open_model(&a, &c);
    CHECK_OK(gguf_check(&a, &hf_f32, &notes, &err), &err);
    CHECK_HAS(notes.line[0], "llama.cpp does not use the window of 8 keys: for longer texts it computes");
    tg_notes_free(&notes);
    gguf_write_file(&a, &hf_f32);
    CHECK_OK(tg_model_file_open(&b, hf_in_directory("model.gguf"), NULL, &err), &err);
    same_config(&b.config, &c);
    tg_model_file_close(&a);
    tg_model_file_close(&b);
}

/* Which tokens begin and end a text is kept without a vocabulary as well. */
static void ends_without_vocabulary(void)
{
    tg_config c = gguf_base("llama");
    tg_model_file a, b;
    tg_err err = {0};

    c.bos_token = 3;
    c.eos_token = 5;
    c.add_bos = true;
    hf_open_model(&a, &c);
    tg_tokenizer_free(a.tokenizer);
    a.tokenizer = NULL;
    gguf_write_file(&a, &hf_f32);
    CHECK_OK(tg_model_file_open(&b, hf_in_directory("model.gguf"), NULL, &err), &err);
    same_config(&b.config, &c);
    tg_model_file_close(&a);
    tg_model_file_close(&b);
}

/* Models of some sizes have another scale of scores. */
static void wide_scale(void)
{
    tg_config c = gguf_base("gemma2");

    c.n_layer = 46;
    c.window_layers = 0x155555555555;
    c.attn_scale = 1 / sqrt(3);
    same(c);
}

/* ---- the file */

static void open_gguf(tg_tensor_list *list, tg_gguf *g, unsigned char *bytes, size_t size)
{
    FILE *f = fopen(hf_in_directory("model.gguf"), "rb");
    size_t n;
    tg_err err = {0};

    CHECK(f != NULL);
    n = fread(bytes, 1, size, f);
    CHECK(n < size);
    fclose(f);
    CHECK_OK(tg_gguf_read(list, g, bytes, n, &err), &err);
}

/* What a file of this model has, and has not. */
static void expect(tg_config c, const char *key, const char *tensor, const char *none)
{
    static unsigned char bytes[1 << 20];
    tg_tensor_list list = {0};
    tg_model_file f;
    tg_gguf g;

    hf_open_model(&f, &c);
    gguf_write_file(&f, &hf_f32);
    open_gguf(&list, &g, bytes, sizeof bytes);
    CHECK(tg_gguf_find(&g, key) != NULL);
    CHECK(tg_tensor_list_find(&list, tensor) != NULL);
    CHECK(tg_gguf_find(&g, none) == NULL && tg_tensor_list_find(&list, none) == NULL);
    tg_gguf_free(&g);
    tg_tensor_list_free(&list);
    tg_model_file_close(&f);
}

static void files(void)
{
    tg_config c = gguf_base("llama");

    c.tied = true;
    expect(c, "llama.attention.head_count_kv", "token_embd.weight", "output.weight");
    c.rope_scaling = TG_ROPE_LLAMA3;
    c.rope_ctx = 8;
    c.rope_factor = 4;
    c.rope_high_freq = 2;
    expect(c, "llama.vocab_size", "rope_freqs.weight", "llama.rope.scaling.type");
    c = gguf_base("gpt_neox");
    c.tied = true; /* llama.cpp wants a head nevertheless */
    expect(c, "gptneox.use_parallel_residual", "output.weight", "blk.0.attn_q.weight");
    expect(c, "gptneox.rope.dimension_count", "blk.1.attn_qkv.bias", "gptneox.attention.key_length");
    c = gguf_base("olmo2");
    c.tied = true;
    expect(c, "olmo2.rope.freq_base", "output.weight", "olmo2.attention.sliding_window");
    c = gguf_base("stablelm");
    c.tied = true;
    c.qkv_bias = false;
    expect(c, "stablelm.use_parallel_residual", "output.weight", "blk.0.attn_q.bias");
    expect(c, "stablelm.attention.head_count_kv", "blk.1.ffn_norm.bias", "stablelm.attention.key_length");
    c = gguf_base("phi3");
    c.rope_dim = 4;
    expect(c, "phi3.attention.sliding_window", "blk.1.ffn_up.weight", "blk.1.ffn_gate.weight");
    expect(c, "phi3.rope.dimension_count", "blk.1.attn_qkv.weight", "phi3.attention.sliding_window_pattern");
    c = gguf_base("gemma2");
    expect(c, "gemma2.attention.sliding_window", "blk.0.post_ffw_norm.weight",
           "gemma2.attention.sliding_window_pattern");
    c.window_layers = 2;
    expect(c, "gemma2.attention.sliding_window_pattern", "blk.0.post_attention_norm.weight", "output.weight");
}

static void types(void)
{
    tg_config c = gguf_base("llama");
    tg_write_options o = {.type = TG_WRITE_Q8_0};
    tg_notes notes = {0};
    tg_model_file f;
    tg_err err = {0};

    c.n_embd = 32; /* and rows of 24 and 20 */
    hf_open_model(&f, &c);
    CHECK_OK(gguf_check(&f, &o, &notes, &err), &err);
    CHECK_EQ(notes.n, 3); /* with one on the end of a text */
    tg_notes_free(&notes);
    for (o.type = TG_WRITE_F32; o.type < TG_WRITE_TYPES; o.type++) {
        tg_model_file read;

        gguf_write_file(&f, &o);
        CHECK_OK(tg_model_file_open(&read, hf_in_directory("model.gguf"), NULL, &err), &err);
        same_config(&read.config, &c);
        tg_model_file_close(&read);
    }
    tg_model_file_close(&f);
}

int main(void)
{
    CHECK(mkdtemp(hf_directory) != NULL);
    RUN(families);
    RUN(settings_of_llama);
    RUN(unrotated);
    RUN(biases_are_added);
    RUN(windows);
    RUN(unused_window);
    RUN(ends_without_vocabulary);
    RUN(wide_scale);
    RUN(files);
    RUN(types);
    unlink(hf_in_directory("model.gguf"));
    return hf_done();
}
