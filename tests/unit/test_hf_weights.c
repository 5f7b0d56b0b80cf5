/*
 * The tensors that are written for the families after GPT-2: what is read again is the same model, and
 * GPT-NeoX's q, k and v, and Phi-3's, are joined as transformers has them.
 */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "tests/unit/check.h"
#include "tests/unit/hf_written.h"
#include "tests/unit/small_model.h"

/* The directory is read as the model that was written: with the type's rounding of each value. */
static void read_again(tg_config c, tg_write_type type, float rounding)
{
    const tg_write_options o = {.type = type};
    tg_model_file f, g;
    tg_float_buffer buffers[2] = {0};
    tg_err err = {0};

    hf_open_model(&f, &c);
    hf_write_directory(&f, &o);
    CHECK_OK(tg_model_file_open(&g, hf_directory, NULL, &err), &err);
    CHECK(small_config_equal(&f.config, &g.config));
    CHECK_EQ(f.table.n, g.table.n);
    for (size_t i = 0; i < f.table.n && i < g.table.n; i++) {
        const float *x, *y;

        CHECK_OK(tg_model_file_get(&x, &buffers[0], &f, i, false, &err), &err);
        CHECK_OK(tg_model_file_get(&y, &buffers[1], &g, i, false, &err), &err);
        for (size_t e = 0; e < f.table.entry[i].count; e++)
            CHECK(fabsf(x[e] - y[e]) <= rounding * fabsf(x[e]));
    }
    free(buffers[0].x);
    free(buffers[1].x);
    tg_model_file_close(&g);
    tg_model_file_close(&f);
}

static void round_trips(void)
{
    tg_config c = hf_base("llama");

    read_again(c, TG_WRITE_F32, 0);
    c.tied = c.qkv_bias = c.out_bias = c.mlp_bias = true;
    c.bos_token = 4;
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 1.1;
    c.layer_norm_epsilon = 0.1 + 0.2; /* 17 digits */
    read_again(c, TG_WRITE_F32, 0);
    read_again(c, TG_WRITE_BF16, 0x1p-8F);
    c = hf_base("qwen2");
    c.qkv_bias = true;
    read_again(c, TG_WRITE_F32, 0);
    c.window = 5;
    c.window_layers = 2;
    read_again(c, TG_WRITE_F32, 0);
    c = hf_base("qwen3");
    c.qk_norm = true;
    read_again(c, TG_WRITE_F32, 0);
    c = hf_base("llama"); /* "mistral" */
    c.window = 5;
    c.window_layers = 3;
    read_again(c, TG_WRITE_F32, 0);
    c = hf_base("llama");
    c.unrotated_layers = 2; /* "smollm3" */
    read_again(c, TG_WRITE_F32, 0);
    c = hf_base("olmo2");
    c.qk_norm = true;
    read_again(c, TG_WRITE_F32, 0);
    c = hf_base("nanochat");
    c.activation = TG_RELU2;
    c.qk_norm = true;
    c.final_logit_softcapping = 15;
    read_again(c, TG_WRITE_F32, 0);
    c.final_logit_softcapping = 0;
    c.qkv_bias = c.out_bias = true;
    read_again(c, TG_WRITE_BF16, 0x1p-8F);
    c = hf_base("stablelm");
    c.rope_dim = 2;
    read_again(c, TG_WRITE_F32, 0);
    c.qkv_bias = c.tied = true;
    read_again(c, TG_WRITE_BF16, 0x1p-8F);
    c = hf_base("phi3");
    c.rope_dim = 4;
    c.window = 5;
    c.window_layers = 3;
    read_again(c, TG_WRITE_F32, 0);
    read_again(c, TG_WRITE_F16, 0x1p-11F);
    c = hf_base("gpt_neox");
    c.activation = TG_GELU_ERF;
    c.n_inner = 20;
    c.rope_dim = 2;
    c.qkv_bias = c.out_bias = true;
    read_again(c, TG_WRITE_F32, 0);
    c.qkv_bias = c.out_bias = false;
    read_again(c, TG_WRITE_F32, 0);
}

static tg_config gemma(const char *family)
{
    tg_config c = hf_base(family);

    c.tied = true;
    c.embed_scale = sqrt(12);
    return c;
}

static void gemma_round_trips(void)
{
    tg_config c = gemma("gemma");

    read_again(c, TG_WRITE_F32, 0); /* in 16 bits, the embedding's scale is rounded too */
    c = gemma("gemma2");
    c.window = 5;
    c.window_layers = 1;
    c.attn_scale = 0.25;
    c.attn_cap = 50;
    c.final_logit_softcapping = 30;
    read_again(c, TG_WRITE_F32, 0);
    c.attn_scale = c.attn_cap = c.final_logit_softcapping = 0;
    read_again(c, TG_WRITE_F32, 0);
    c = gemma("gemma3");
    c.qk_norm = true;
    c.window = 5;
    c.window_layers = 1;
    c.rope_local_theta = 100;
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 8;
    read_again(c, TG_WRITE_F32, 0);
}

/* The scale is that of the type, or becomes it as the weights do. */
static void round_trips_of_gemma(void)
{
    tg_config c = hf_base("gemma");

    read_again(c, TG_WRITE_F32, 0);
    c.embed_scale = 3.46875;
    read_again(c, TG_WRITE_BF16, 0x1p-8F);
    c.embed_scale = 3.46484375;
    read_again(c, TG_WRITE_F16, 0x1p-11F);
}

/* Where the values of a GPT-NeoX's tensor are in the file that was written. */
static const float *find(const tg_tensor_list *list, const char *name, size_t rows)
{
    const tg_stored *s = tg_tensor_list_find(list, name);

    CHECK(s != NULL);
    CHECK_EQ(s->array.shape[0], rows);
    return (const float *)(const void *)s->at;
}

/* Row r of part 0 (q), 1 or 2 of head h is row (3h + part) D + r. */
static void check_joined(const tg_model_file *f, const float *joined, tg_param_kind kind, size_t width)
{
    const size_t D = 3;

    for (size_t part = 0; part < 3; part++) {
        static const tg_param_kind kinds[] = {TG_Q_W, TG_K_W, TG_V_W};
        const size_t i = tg_params_index(&f->table, kinds[part] + (kind - TG_Q_W), 1);
        tg_float_buffer buffer = {0};
        const float *x = NULL;
        tg_err err = {0};

        if (i < f->table.n)
            CHECK_OK(tg_model_file_get(&x, &buffer, f, i, false, &err), &err);
        for (size_t h = 0; h < 4; h++)
            for (size_t e = 0; e < D * width; e++)
                CHECK(joined[(3 * h + part) * D * width + e] == (x ? x[h * D * width + e] : 0));
        free(buffer.x);
    }
}

/* The tensors of the file that was written. */
struct written {
    tg_model_file f; /* the model */
    tg_tensor_list list;
    tg_metadata metadata;
    unsigned char *bytes;
};

static void open_written(struct written *w, tg_config c)
{
    struct stat st;
    tg_err err = {0};
    int fd;

    hf_open_model(&w->f, &c);
    hf_write_directory(&w->f, &hf_f32);
    fd = open(hf_in_directory("model.safetensors"), O_RDONLY);
    CHECK(fd >= 0 && fstat(fd, &st) == 0);
    w->bytes = malloc((size_t)st.st_size);
    CHECK_EQ(read(fd, w->bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    CHECK_OK(tg_safetensors_read(&w->list, &w->metadata, w->bytes, (size_t)st.st_size, &err), &err);
}

static void close_written(struct written *w)
{
    tg_tensor_list_free(&w->list);
    tg_metadata_free(&w->metadata);
    free(w->bytes);
    tg_model_file_close(&w->f);
}

static void neox(void)
{
    tg_config c = hf_base("gpt_neox");
    struct written w;

    c.rope_dim = 2;
    c.out_bias = true; /* q, k and v get biases of zeros */
    open_written(&w, c);
    CHECK_EQ(w.list.n, 2 + 2 * 12 + 2);
    check_joined(&w.f, find(&w.list, "gpt_neox.layers.1.attention.query_key_value.weight", 36), TG_Q_W, 12);
    check_joined(&w.f, find(&w.list, "gpt_neox.layers.1.attention.query_key_value.bias", 36), TG_Q_B, 1);
    (void)find(&w.list, "embed_out.weight", 256);
    close_written(&w);
}

/* The parameter's values are in a tensor from a row on. */
static void check_rows(const struct written *w, const char *name, size_t rows, tg_param_kind kind, size_t row)
{
    const size_t i = tg_params_index(&w->f.table, kind, 1);
    const float *joined = find(&w->list, name, rows), *x;
    tg_float_buffer buffer = {0};
    tg_err err = {0};

    CHECK_OK(tg_model_file_get(&x, &buffer, &w->f, i, false, &err), &err);
    CHECK(memcmp(joined + row * 12, x, w->f.table.entry[i].count * sizeof *x) == 0);
    free(buffer.x);
}

static void phi3(void)
{
    static const char qkv[] = "model.layers.1.self_attn.qkv_proj.weight";
    static const char gate_up[] = "model.layers.1.mlp.gate_up_proj.weight";
    struct written w;

    open_written(&w, hf_base("phi3"));
    CHECK_EQ(w.list.n, 1 + 2 * 6 + 2);
    check_rows(&w, qkv, 48, TG_Q_W, 0);
    check_rows(&w, qkv, 48, TG_K_W, 24);
    check_rows(&w, qkv, 48, TG_V_W, 36);
    check_rows(&w, gate_up, 40, TG_GATE_W, 0);
    check_rows(&w, gate_up, 40, TG_UP_W, 20);
    close_written(&w);
}

/* Rows 3 to 5 of each head come before its rows 0 to 2. */
static void nanochat(void)
{
    static const char name[] = "model.layers.1.self_attn.k_proj.weight";
    struct written w;
    tg_float_buffer buffer = {0};
    const float *stored, *x;
    tg_config c = hf_base("nanochat");
    tg_err err = {0};

    c.qk_norm = true;
    open_written(&w, c);
    CHECK_EQ(w.list.n, 1 + 2 * 6 + 1);
    stored = find(&w.list, name, 12);
    CHECK_OK(tg_model_file_get(&x, &buffer, &w.f, tg_params_index(&w.f.table, TG_K_W, 1), false, &err), &err);
    for (size_t r = 0; r < 12; r++)
        CHECK(memcmp(stored + (r / 6 * 6 + (r + 3) % 6) * 12, x + r * 12, 12 * sizeof *x) == 0);
    free(buffer.x);
    close_written(&w);
}

int main(void)
{
    if (!hf_begin())
        return 1;
    RUN(round_trips);
    RUN(gemma_round_trips);
    RUN(round_trips_of_gemma);
    RUN(neox);
    RUN(phi3);
    RUN(nanochat);
    return hf_done();
}
