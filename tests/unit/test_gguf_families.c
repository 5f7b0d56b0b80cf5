/*
 * Llama's relatives in GGUF files: the same parameters as in memory, in whichever order and type the file has
 * them; what its named values say, and what they must not say.  tests/judges/families_gguf.py compares the
 * numbers of such models with transformers'.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/block_types.h"
#include "formats/gguf_writer.h"
#include "lib/gpt/family.h"
#include "lib/gpt/rope.h"
#include "lib/models/model_file.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

static char directory[] = "/tmp/test_gguf_families.XXXXXX", path[128];

/* ---- files */

#define VALUES_MAX 8192 /* of a tensor */

/* A file to write. */
struct file {
    const char *architecture;
    tg_config c;         /* its config and table decide which tensors there are */
    tg_gguf_kind kind;   /* of matrices */
    bool fused;          /* q, k and v are in one tensor */
    const char *without; /* a key or a tensor that is missing */
    const char *tensor;  /* one too many */
    const char *key;     /* and a value, of a type: u32, f32, text, or i32s, the same for each layer */
    char type;
    double value;
    const char *text;
    const float *divisors; /* [n_divisors] of frequencies */
    size_t n_divisors;
};

static void put_key(tg_gguf_writer *w, const struct file *f, const char *name, double value, char type)
{
    char key[96];

    snprintf(key, sizeof key, "%s.%s", f->architecture, name);
    if (value == 0 || (f->without && strcmp(f->without, name) == 0) || (f->key && strcmp(f->key, name) == 0))
        return;
    if (type == 'f')
        tg_gguf_put_f32(w, key, (float)value);
    else
        tg_gguf_put_u32(w, key, (uint32_t)value);
}

static void put_other(tg_gguf_writer *w, const struct file *f)
{
    int32_t same[8];
    char key[96];

    if (!f->key)
        return;
    for (size_t i = 0; i < 8; i++)
        same[i] = (int32_t)f->value;
    snprintf(key, sizeof key, "%s.%s", f->architecture, f->key);
    if (f->type == 'u')
        tg_gguf_put_u32(w, key, (uint32_t)f->value);
    if (f->type == 'f')
        tg_gguf_put_f32(w, key, (float)f->value);
    if (f->type == 'b')
        tg_gguf_put_bool(w, key, f->value != 0);
    if (f->type == 't')
        tg_gguf_put_text(w, key, f->text, strlen(f->text));
    if (f->type == 'a')
        tg_gguf_put_i32s(w, key, same, f->c.n_layer);
}

static bool is_stablelm(const struct file *f)
{
    return strcmp(f->architecture, "stablelm") == 0;
}

static void put_keys(tg_gguf_writer *w, const struct file *f)
{
    const tg_config *c = &f->c;
    const bool neox = strcmp(f->architecture, "gptneox") == 0, layernorm = neox || is_stablelm(f);

    tg_gguf_put_text(w, "general.architecture", f->architecture, strlen(f->architecture));
    put_key(w, f, "block_count", (double)c->n_layer, 'u');
    put_key(w, f, "context_length", (double)c->n_ctx, 'u');
    put_key(w, f, "embedding_length", (double)c->n_embd, 'u');
    put_key(w, f, "feed_forward_length", (double)c->n_inner, 'u');
    put_key(w, f, "attention.head_count", (double)c->n_head, 'u');
    put_key(w, f, "attention.head_count_kv", neox ? 0 : (double)c->n_kv_head, 'u');
    put_key(w, f, "attention.key_length", neox ? 0 : (double)c->head_dim, 'u');
    put_key(w, f, "attention.value_length", neox ? 0 : (double)c->head_dim, 'u');
    put_key(w, f, "rope.dimension_count", (double)tg_config_rope_dim(c), 'u');
    put_key(w, f, layernorm ? "attention.layer_norm_epsilon" : "attention.layer_norm_rms_epsilon",
            c->layer_norm_epsilon, 'f');
    put_key(w, f, "rope.freq_base", c->rope_theta == 10000 ? 0 : c->rope_theta, 'f');
    put_key(w, f, "attention.sliding_window", (double)c->window, 'u');
    put_other(w, f);
}

/* Parameter p's value e: different everywhere. */
static float value_of(const tg_param *p, size_t e)
{
    return (float)((p->kind * 7 + p->layer * 3 + e * 13) % 1009) / 256 - 1 + (float)p->kind / 4096;
}

/* The row that a file of Llama's or SmolLM3's has at r: the first of a pair is in the first half of the head.
 */
static size_t row_at(const struct file *f, const tg_param *p, size_t r)
{
    const size_t D = tg_config_head_dim(&f->c), in = r % D;
    const bool turned = p->kind == TG_Q_W || p->kind == TG_Q_B || p->kind == TG_K_W || p->kind == TG_K_B;

    if ((strcmp(f->architecture, "llama") != 0 && strcmp(f->architecture, "smollm3") != 0) || !turned)
        return r;
    return r - in + (in % 2 == 0 ? in / 2 : D / 2 + in / 2);
}

/* Rows of p as the file has them, after *n values of x. */
static void append(float *x, size_t *n, const struct file *f, const tg_param *p)
{
    const size_t rows = p->shape[0], columns = p->ndim == 2 ? p->shape[1] : 1;

    CHECK(*n + rows * columns <= VALUES_MAX);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            x[(*n)++] = value_of(p, row_at(f, p, r) * columns + c);
}

static const struct {
    tg_param_kind kind;
    const char *name;
} names[] = {/* of the parameters in blocks without "blk.N." */
             {TG_WTE, "token_embd.weight"},
             {TG_LN1_W, "attn_norm.weight"},
             {TG_LN1_B, "attn_norm.bias"},
             {TG_Q_W, "attn_q.weight"},
             {TG_Q_B, "attn_q.bias"},
             {TG_K_W, "attn_k.weight"},
             {TG_K_B, "attn_k.bias"},
             {TG_V_W, "attn_v.weight"},
             {TG_V_B, "attn_v.bias"},
             {TG_Q_NORM_W, "attn_q_norm.weight"},
             {TG_K_NORM_W, "attn_k_norm.weight"},
             {TG_ATT_PROJ_W, "attn_output.weight"},
             {TG_ATT_PROJ_B, "attn_output.bias"},
             {TG_OUT_NORM_W, "post_attention_norm.weight"},
             {TG_LN2_W, "ffn_norm.weight"},
             {TG_LN2_B, "ffn_norm.bias"},
             {TG_GATE_W, "ffn_gate.weight"},
             {TG_GATE_B, "ffn_gate.bias"},
             {TG_UP_W, "ffn_up.weight"},
             {TG_UP_B, "ffn_up.bias"},
             {TG_FC_W, "ffn_up.weight"},
             {TG_FC_B, "ffn_up.bias"},
             {TG_FC_PROJ_W, "ffn_down.weight"},
             {TG_FC_PROJ_B, "ffn_down.bias"},
             {TG_DOWN_NORM_W, "post_ffw_norm.weight"},
             {TG_LNF_W, "output_norm.weight"},
             {TG_LNF_B, "output_norm.bias"},
             {TG_HEAD_W, "output.weight"}};

static void put_tensor(tg_gguf_writer *w, const struct file *f, const char *name, const size_t *shape,
                       size_t ndim, const float *x, bool declare)
{
    const bool blocks = ndim == 2 && tg_gguf_can_store(f->kind, shape[1]);

    if (f->without && strcmp(f->without, name) == 0)
        return;
    if (declare)
        tg_gguf_declare(w, name, ndim, shape, blocks ? f->kind : TG_GGUF_AS_F32);
    else
        tg_gguf_put_values(w, x, shape[0] * (ndim == 2 ? shape[1] : 1));
}

static bool is_phi3(const struct file *f)
{
    return strcmp(f->architecture, "phi3") == 0;
}

/* Table entry i, with the two others of q, k and v if they are in one tensor; Phi-3's gate with its other. */
static void put_entry(tg_gguf_writer *w, const struct file *f, const tg_params *table, size_t i, bool declare)
{
    const tg_family *family = tg_config_family(&f->c);
    const tg_param *p = &table->entry[i];
    const bool first = p->kind == TG_Q_W || p->kind == TG_Q_B;
    const bool other = p->kind == TG_K_W || p->kind == TG_K_B || p->kind == TG_V_W || p->kind == TG_V_B;
    const bool gate = p->kind == TG_GATE_W && is_phi3(f), up = p->kind == TG_UP_W && is_phi3(f);
    size_t shape[2] = {p->shape[0], p->shape[1]}, n = 0;
    char name[64] = "";
    float x[VALUES_MAX];

    if ((f->fused && other) || up)
        return;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (names[k].kind == p->kind && strncmp(p->name, family->block, strlen(family->block)) == 0)
            snprintf(name, sizeof name, "blk.%zu.%s", p->layer, names[k].name);
        else if (names[k].kind == p->kind)
            snprintf(name, sizeof name, "%s", names[k].name);
    append(x, &n, f, p);
    if (gate) {
        append(x, &n, f, &table->entry[tg_params_index(table, TG_UP_W, p->layer)]);
        snprintf(name, sizeof name, "blk.%zu.ffn_up.weight", p->layer);
        shape[0] *= 2;
    }
    if (f->fused && first) {
        for (tg_param_kind kind = p->kind + 2; kind <= p->kind + 4; kind += 2)
            append(x, &n, f, &table->entry[tg_params_index(table, kind, p->layer)]);
        snprintf(name, sizeof name, "blk.%zu.attn_qkv.%s", p->layer, p->ndim == 2 ? "weight" : "bias");
        shape[0] = n / (p->ndim == 2 ? p->shape[1] : 1);
    }
    put_tensor(w, f, name, shape, p->ndim, x, declare);
}

static void write_file(const struct file *f)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const size_t one = 1;
    tg_gguf_writer w;
    tg_params table;
    tg_err err = {0};

    CHECK_OK(tg_params_build(&table, &f->c, &err), &err);
    tg_gguf_begin(&w, fd);
    put_keys(&w, f);
    for (int declare = 1; declare >= 0; declare--) {
        if (f->divisors)
            put_tensor(&w, f, "rope_freqs.weight", &f->n_divisors, 1, f->divisors, declare);
        for (size_t i = 0; i < table.n; i++)
            put_entry(&w, f, &table, i, declare);
        if (f->tensor)
            put_tensor(&w, f, f->tensor, &one, 1, &(float){0}, declare);
    }
    CHECK_OK(tg_gguf_finish(&w, &err), &err);
    tg_params_free(&table);
    close(fd);
}

/* ---- models */

static tg_config config_of(const char *family)
{
    const tg_config c = {.n_layer = 2,
                         .n_head = 4,
                         .n_embd = 32,
                         .n_ctx = 64,
                         .vocab_size = 50,
                         .n_kv_head = 2,
                         .head_dim = 16,
                         .n_inner = 64,
                         .layer_norm_epsilon = 1e-6,
                         .activation = TG_SILU,
                         .rope_theta = 500000};

    return small_family_config(family, c);
}

static const char *architecture_of(const char *family)
{
    return strcmp(family, "gpt_neox") == 0 ? "gptneox" : family;
}

/* Value e of p, rounded as in a file with such matrices. */
static void check_values(const struct file *f, const tg_param *p, const float *x)
{
    const size_t columns = p->ndim == 2 ? p->shape[1] : 1;
    unsigned char stored[VALUES_MAX / TG_Q8_0_VALUES * TG_Q8_0_BYTES];
    float want[VALUES_MAX];

    for (size_t e = 0; e < p->count; e++)
        want[e] = value_of(p, e);
    if (p->ndim == 2 && f->kind == TG_GGUF_AS_Q8_0 && columns % TG_Q8_0_VALUES == 0) {
        tg_q8_0_encode(stored, want, p->count);
        tg_blocks_decode(want, tg_blocks_numbered(8), stored, 0, p->count);
    }
    for (size_t e = 0; e < p->count; e++)
        CHECK(x[e] == want[e]);
}

/* Write it, and read it as the config `want`. */
static void expect(const struct file *f, const tg_config *want)
{
    tg_float_buffer buffer = {0};
    float turned[VALUES_MAX];
    tg_model_file m;
    const float *x;
    tg_err err = {0};

    write_file(f);
    CHECK_OK(tg_model_file_open(&m, path, NULL, &err), &err);
    CHECK(small_config_equal(&m.config, want));
    for (size_t i = 0; i < m.table.n; i++) {
        const tg_param *p = &m.table.entry[i];

        CHECK_OK(tg_model_file_get(&x, &buffer, &m, i, false, &err), &err);
        check_values(f, p, x);
        CHECK_OK(tg_model_file_read(turned, &m, i, true, &err), &err);
        for (size_t r = 0; p->ndim == 2 && r < p->shape[0]; r++)
            for (size_t c = 0; c < p->shape[1]; c++)
                CHECK(turned[c * p->shape[0] + r] == x[r * p->shape[1] + c]);
        tg_model_file_release(&m, i);
    }
    free(buffer.x);
    tg_model_file_close(&m);
}

/* In all types, and with q, k and v apart and in one. */
static void expect_all(tg_config c)
{
    struct file f = {.architecture = architecture_of(tg_config_family(&c)->name), .c = c};

    for (f.kind = TG_GGUF_AS_F32; f.kind <= TG_GGUF_AS_Q8_0; f.kind += TG_GGUF_AS_Q8_0)
        for (int fused = 0; fused < 2; fused++) {
            f.fused = fused;
            expect(&f, &c);
        }
}

static void families(void)
{
    tg_config c = config_of("llama");

    expect_all(c);
    c.tied = c.qkv_bias = c.out_bias = c.mlp_bias = true;
    c.layer_norm_epsilon = 1e-5;
    c.rope_theta = 10000;
    expect_all(c);
    c = config_of("qwen2");
    c.qkv_bias = true;
    expect_all(c);
    c = config_of("qwen3");
    c.qk_norm = c.tied = true;
    c.head_dim = 6;
    expect_all(c);
    c = config_of("gemma");
    c.activation = TG_GELU_TANH;
    c.embed_scale = sqrt(32);
    expect_all(c);
    c = config_of("olmo2");
    c.qk_norm = true;
    expect_all(c);
    c = config_of("phi3");
    c.rope_dim = 6;
    expect_all(c);
    c = config_of("stablelm");
    c.head_dim = 0;
    c.rope_dim = 4;
    expect_all(c);
    c.qkv_bias = true;
    expect_all(c);
    c = config_of("gpt_neox");
    c.activation = TG_GELU_ERF;
    c.n_kv_head = c.head_dim = 0;
    c.rope_dim = 2;
    c.rope_theta = 10000;
    c.qkv_bias = c.out_bias = true;
    expect_all(c);
}

static void windows(void)
{
    tg_config c = config_of("gemma3");
    struct file f = {.architecture = "gemma3"};

    c.activation = TG_GELU_TANH;
    c.qk_norm = true;
    c.embed_scale = sqrt(32);
    f.c = c;
    expect(&f, &c);
    c.n_layer = 7;
    c.window = 9;
    c.window_layers = 0x5F; /* all but layer 5 */
    c.rope_local_theta = 10000;
    f.c = c;
    expect(&f, &c);
    f.key = "rope.freq_base_swa";
    f.type = 'f';
    f.value = c.rope_local_theta = 25;
    expect(&f, &c);
    f.key = "attention.sliding_window_pattern";
    f.type = 'u';
    f.value = 3;
    c.rope_local_theta = 10000;
    c.window_layers = 0x5B; /* all but layers 2 and 5 */
    expect(&f, &c);
    f.type = 'a';
    f.value = 1;
    c.window_layers = 0x7F;
    expect(&f, &c);
    c = config_of("gemma2");
    c.activation = TG_GELU_TANH;
    c.embed_scale = sqrt(32);
    c.n_layer = 5;
    c.window = 9;
    c.window_layers = 0x15;
    c.attn_cap = 50;
    c.final_logit_softcapping = 30;
    expect(&(struct file){.architecture = "gemma2", .c = c}, &c);
    c.window = 4096; /* it is not told */
    f = (struct file){.architecture = "gemma2", .c = c, .without = "attention.sliding_window"};
    expect(&f, &c);
    c.final_logit_softcapping = 12;
    f = (struct file){
        .architecture = "gemma2", .c = c, .key = "final_logit_softcapping", .type = 'f', .value = 12};
    expect(&f, &c);
    c = config_of("olmo2"); /* OLMo 3: the bases are the same */
    c.qk_norm = true;
    c.n_layer = 5;
    c.window = 9;
    c.window_layers = 0x17; /* all but layer 3 */
    c.rope_local_theta = c.rope_theta;
    expect(&(struct file){.architecture = "olmo2", .c = c}, &c);
}

/* SmolLM3: every fourth layer does not rotate, without a word of it in the file. */
static void unrotated(void)
{
    tg_config c = config_of("llama");
    struct file f = {.architecture = "smollm3"};

    f.c = c;
    expect(&f, &c);
    c.n_layer = 9;
    c.unrotated_layers = 0x88;
    c.tied = c.qkv_bias = true;
    f.c = c;
    expect(&f, &c);
    f.fused = true;
    expect(&f, &c);
}

/* ---- scaling */

/* As the converter computes them. */
static void divide(float divisors[8], const tg_config *c)
{
    for (size_t j = 0; j < 8; j++) {
        const double f = pow(c->rope_theta, -(double)j / 8),
                     turns = (double)c->rope_ctx * f / (2 * 3.14159265358979);
        const double s =
            fmin(fmax((turns - c->rope_low_freq) / (c->rope_high_freq - c->rope_low_freq), 0), 1);

        divisors[j] = (float)(1 / ((1 - s) / c->rope_factor + s));
    }
}

static tg_config scaled(double theta, double factor, double high, size_t context)
{
    tg_config c = config_of("llama");

    c.rope_scaling = TG_ROPE_LLAMA3;
    c.rope_theta = theta;
    c.rope_factor = factor;
    c.rope_high_freq = high;
    c.rope_ctx = context;
    return c;
}

/* The same numbers, where two frequencies lie between the bounds, or one between Llama's. */
static void divisors(void)
{
    const tg_config cases[] = {scaled(500000, 8, 4, 8192), scaled(500000, 32, 4, 8192),
                               scaled(30, 8, 4, 32),       scaled(6561, 2, 16, 1000),
                               scaled(256, 4, 6, 48),      scaled(20, 3, 8.25, 64)};
    struct file f = {.architecture = "llama", .n_divisors = 8};
    float x[8];

    f.divisors = x;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        divide(x, &cases[i]);
        f.c = cases[i];
        expect(&f, &cases[i]);
    }
}

/* Other numbers of the same effect: few frequencies, and another low. */
static void divisors_of_few(void)
{
    tg_config cases[] = {scaled(1e9, 4, 4, 512), scaled(256, 4, 12, 96)};
    float x[8];

    cases[1].rope_low_freq = 2;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tg_model_file m;
        tg_err err = {0};

        divide(x, &cases[i]);
        write_file(&(struct file){.architecture = "llama", .c = cases[i], .divisors = x, .n_divisors = 8});
        CHECK_OK(tg_model_file_open(&m, path, NULL, &err), &err);
        for (size_t j = 0; j < 8; j++)
            CHECK(fabs(tg_rope_frequency(&m.config, false, j) / tg_rope_frequency(&cases[i], false, j) - 1) <
                  1e-5);
        tg_model_file_close(&m);
    }
}

static void scaling(void)
{
    tg_config c = config_of("llama");
    float x[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct file f = {.architecture = "llama", .c = c, .divisors = x, .n_divisors = 8};

    expect(&f, &c); /* none */
    for (size_t j = 0; j < 8; j++)
        x[j] = 4;
    c.rope_scaling = TG_ROPE_LINEAR;
    c.rope_factor = 4;
    expect(&f, &c);
    f.divisors = NULL;
    f.key = "rope.scaling.factor";
    f.type = 'f';
    f.value = 4;
    expect(&f, &c);
    f.key = "rope.scale_linear";
    expect(&f, &c);
}

/* ---- refusals */

static void refuse(const struct file *f, const char *message)
{
    tg_model_file m;
    tg_err err = {0};

    write_file(f);
    CHECK_EQ(tg_model_file_open(&m, path, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    CHECK_HAS(err.message, path);
}

static void values_refused(void)
{
    static const struct {
        const char *key;
        char type;
        double value;
        const char *text, *message;
    } cases[] = {
        {"expert_count", 'u', 8, NULL, "llama.expert_count: a mixture of experts is not supported"},
        {"expert_count", 't', 8, "8", "llama.expert_count: expected a number"},
        {"attention.causal", 'b', 0, NULL, "llama.attention.causal: attention to later tokens"},
        {"attention.clamp_kqv", 'f', 8, NULL, "llama.attention.clamp_kqv: clipped queries"},
        {"final_logit_softcapping", 'f', 30, NULL, "llama.final_logit_softcapping: a cap is not supported"},
        {"attention.sliding_window", 'u', 8, NULL, "sliding_window: a window shorter than the context"},
        {"attention.head_count_kv", 'a', 2, NULL, "llama.attention.head_count_kv is an array of i32"},
        {"attention.head_count_kv", 'u', 3, NULL, "n_kv_head is 3, expected a divisor of config/n_head, 4"},
        {"attention.head_count", 'u', 0, NULL, "llama.attention.head_count is 0, expected at least 1"},
        {"attention.value_length", 'u', 8, NULL, "value_length is 8, expected 16, the channels of a head"},
        {"rope.dimension_count", 'u', 8, NULL, "llama.rope.dimension_count is 8, expected 16"},
        {"rope.scaling.type", 't', 0, "yarn", "llama.rope.scaling.type: scaling \"yarn\" is not supported"},
        {"rope.scaling.type", 't', 0, "long\x1B", "scaling \"long?\" is not supported"},
        {"rope.scaling.type", 'u', 2, NULL, "llama.rope.scaling.type is u32, expected a text"},
        {"rope.scaling.factor", 'f', 0.5, NULL, "config/rope_factor"},
        {"rope.freq_base", 'u', 10000, NULL, "llama.rope.freq_base is u32, expected a float"},
        {"rope.freq_base", 'f', -1, NULL, "config/rope_theta"},
        {"block_count", 'u', 3, NULL, "blk.2.attn_norm.weight is missing"},
        {"block_count", 'u', 1, NULL,
         "blk.1.attn_norm.weight is not a tensor of the family llama with this config"},
        {"block_count", 'u', 1000000, NULL, "config/n_layer must be between 1 and 112"},
        {"embedding_length", 'u', 16, NULL, "token_embd.weight has shape (50, 32), expected (50, 16)"},
        {"feed_forward_length", 'u', 32, NULL, "blk.0.ffn_gate.weight has shape (64, 32), expected (32, 32)"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse(&(struct file){.architecture = "llama",
                              .c = config_of("llama"),
                              .key = cases[i].key,
                              .type = cases[i].type,
                              .value = cases[i].value,
                              .text = cases[i].text},
               cases[i].message);
}

static void tensors_refused(void)
{
    struct file f = {.architecture = "llama", .c = config_of("llama")};

    f.without = "block_count";
    refuse(&f, "llama.block_count is missing");
    f.without = "token_embd.weight";
    refuse(&f, "token_embd.weight is missing");
    f.without = "blk.1.attn_q.weight";
    refuse(&f, "blk.1.attn_q.weight is missing");
    f.fused = true;
    f.without = "blk.1.attn_qkv.weight";
    refuse(&f, "blk.1.attn_q.weight is missing");
    f.without = NULL;
    f.tensor = "blk.0.attn_k.weight";
    refuse(&f, "blk.0.attn_k.weight is there twice");
    f.tensor = "blk.0.attn_qkv.bias";
    f.fused = false;
    refuse(&f, "blk.0.attn_qkv.bias has shape (1,), expected (128,)");
    f.tensor = "blk.1.attn_qkv.bias";
    refuse(&f, "blk.1.attn_qkv.bias is not a tensor of the family llama with this config");
    f.tensor = "blk.0.ffn_gate_exps.weight";
    refuse(&f, "blk.0.ffn_gate_exps.weight is not a tensor of the family llama with this config");
    f.tensor = "output.bias";
    refuse(&f, "output.bias is not a tensor of the family llama with this config");
}

static void divisors_refused(void)
{
    float x[8] = {1, 1, 1, 2, 1, 4, 8, 8};
    struct file f = {.architecture = "llama", .c = config_of("llama"), .divisors = x, .n_divisors = 8};

    f.key = "attention.head_count";
    f.type = 'u';
    refuse(&f, "llama.attention.head_count is 0");
    f.key = NULL;
    refuse(&f, "rope_freqs.weight: these divisors are not those of Llama 3's scaling");
    f.n_divisors = 7;
    refuse(&f, "rope_freqs.weight has 7 values, expected 8");
    f.n_divisors = 8;
    for (size_t j = 0; j < 8; j++)
        x[j] = j == 7 ? 0 : 1;
    refuse(&f, "these divisors are not");
    x[7] = NAN;
    refuse(&f, "these divisors are not");
    x[7] = 2;
    f.key = "rope.scaling.factor";
    f.type = 'f';
    f.value = 2;
    refuse(&f, "linear scaling, and rope_freqs.weight besides");
}

/* Layer 67 does not rotate, and there is no bit for it. */
static void unrotated_refused(void)
{
    struct file f = {.architecture = "smollm3", .c = config_of("llama"), .key = "block_count", .type = 'u'};

    f.value = 67;
    refuse(&f, "blk.2.attn_norm.weight is missing");
    f.value = 68;
    refuse(&f, "smollm3.block_count: layers without rotation after layer 63 are not supported");
    f.value = 1000000;
    refuse(&f, "smollm3.block_count: layers without rotation");
}

/* Phi-3's window is in all layers. */
static void phi3_window(void)
{
    tg_config c = config_of("phi3");
    struct file f = {.architecture = "phi3", .fused = true};

    c.window = 8;
    c.window_layers = 3;
    f.c = c;
    expect(&f, &c);
    f.c.rope_dim = 16; /* all channels: the file has the same number */
    expect(&f, &c);
}

static void phi3_refused(void)
{
    struct file f = {.architecture = "phi3", .c = config_of("phi3"), .type = 'f', .fused = true};

    f.tensor = "rope_factors_long.weight";
    refuse(&f, "rope_factors_long.weight: scaling \"longrope\" is not supported");
    f.tensor = NULL;
    f.key = "rope.scaling.attn_factor";
    f.value = 1.19;
    refuse(&f, "phi3.rope.scaling.attn_factor: scaled attention is not supported");
    f.key = "rope.dimension_count";
    f.type = 'u';
    f.value = 0;
    refuse(&f, "phi3.rope.dimension_count: a rotation of no channel is not supported");
    f.value = 18;
    refuse(&f, "config/rope_dim is 18, expected at most the 16 channels of a head");
    f.without = f.key;
    f.key = NULL;
    refuse(&f, "phi3.rope.dimension_count is missing");
    f.without = NULL;
    f.tensor = "blk.0.ffn_gate.weight";
    refuse(&f, "blk.0.ffn_gate.weight is not a tensor of the family phi3 with this config");
    f.tensor = NULL;
    f.without = "blk.0.ffn_up.weight";
    refuse(&f, "blk.0.ffn_up.weight is missing");
}

static void stablelm_refused(void)
{
    struct file f = {.architecture = "stablelm", .c = config_of("stablelm"), .type = 'u'};

    f.c.head_dim = 0;
    f.c.rope_dim = 4;
    f.without = "blk.0.ffn_norm.weight";
    refuse(&f, "blk.0.ffn_norm.weight is missing: attention and MLP side by side are not supported");
    f.without = NULL;
    f.tensor = "blk.0.attn_q_norm.weight";
    refuse(&f, "blk.0.attn_q_norm.weight is not a tensor of the family stablelm with this config");
    f.tensor = NULL;
    f.key = "attention.key_length";
    f.value = 2;
    refuse(&f, "stablelm.attention.key_length is 2, expected 8, the channels of a head");
}

static void neox_refused(void)
{
    struct file f = {.architecture = "gptneox", .c = config_of("gpt_neox"), .type = 'u'};

    f.c.n_kv_head = f.c.head_dim = 0;
    f.c.rope_dim = 2;
    f.key = "attention.head_count_kv";
    f.value = 2;
    refuse(&f, "gptneox.attention.head_count_kv is 2, expected 4, the number of heads");
    f.key = "attention.key_length";
    refuse(&f, "gptneox.attention.key_length is 2, expected 8, the channels of a head");
    f.key = "use_parallel_residual";
    f.type = 'b';
    f.value = 0;
    refuse(&f, "gptneox.use_parallel_residual: attention and MLP one after the other are not supported");
    f.key = NULL;
    f.without = "rope.dimension_count";
    refuse(&f, "gptneox.rope.dimension_count is missing");
}

static void windows_refused(void)
{
    struct file f = {
        .architecture = "gemma3", .c = config_of("gemma3"), .key = "attention.sliding_window_pattern"};

    f.c.qk_norm = true;
    f.c.window = 8;
    f.type = 't';
    f.text = "LG";
    refuse(&f, "gemma3.attention.sliding_window_pattern");
    f.type = 'f';
    refuse(&f, "gemma3.attention.sliding_window_pattern");
    f.key = NULL;
    f.c.n_layer = 66;
    refuse(&f, "windows after layer 63 are not supported");
}

int main(void)
{
    if (!mkdtemp(directory))
        return 1;
    snprintf(path, sizeof path, "%s/model.gguf", directory);
    RUN(families);
    RUN(windows);
    RUN(unrotated);
    RUN(divisors);
    RUN(divisors_of_few);
    RUN(scaling);
    RUN(values_refused);
    RUN(tensors_refused);
    RUN(divisors_refused);
    RUN(unrotated_refused);
    RUN(phi3_window);
    RUN(phi3_refused);
    RUN(stablelm_refused);
    RUN(neox_refused);
    RUN(windows_refused);
    unlink(path);
    rmdir(directory);
    return check_done();
}
