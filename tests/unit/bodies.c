#include "tests/unit/bodies.h"

#include <math.h>

#include "lib/gpt/family.h"
#include "tests/unit/small_model.h"

static tg_config base(void)
{
    return (tg_config){.n_layer = 2,
                       .n_head = 6,
                       .n_embd = 10,
                       .n_ctx = 16,
                       .vocab_size = 256,
                       .layer_norm_epsilon = 1e-5,
                       .activation = TG_SILU,
                       .n_kv_head = 2,
                       .head_dim = 4,
                       .n_inner = 14,
                       .rope_theta = 100};
}

/* Six heads read two of keys; the second layer does not rotate. */
static void set_llama(tg_config *c)
{
    c->unrotated_layers = 2;
}

/* A window in all layers, and half of each head's channels rotated; one head of queries, not as wide as C. */
static void set_mistral(tg_config *c)
{
    c->n_head = c->n_kv_head = 1;
    c->head_dim = 8;
    c->rope_dim = 4;
    c->window = 3;
    c->window_layers = 3;
}

static void set_qwen3(tg_config *c)
{
    c->qk_norm = c->tied = true;
}

/* One head of keys; the second layer sees all of them. */
static void set_gemma(tg_config *c)
{
    c->activation = TG_GELU_TANH;
    c->tied = true;
    c->n_kv_head = 1;
    c->norm_offset = 1;
    c->embed_scale = sqrt(10);
    c->window = 2;
    c->window_layers = 1;
    c->attn_scale = 0.4;
}

static void set_gemma2(tg_config *c)
{
    set_gemma(c);
    c->attn_cap = 1.5;
    c->final_logit_softcapping = 3;
}

static void set_gemma3(tg_config *c)
{
    set_gemma(c);
    c->qk_norm = true;
    c->rope_local_theta = 7;
}

static void set_olmo2(tg_config *c)
{
    c->qk_norm = true;
}

/* Heads of C/H channels with keys of their own, half of them rotated. */
static void set_neox(tg_config *c)
{
    c->activation = TG_GELU_ERF;
    c->n_embd = 24;
    c->n_kv_head = c->head_dim = 0;
    c->qkv_bias = c->out_bias = true;
    c->rope_dim = 2;
}

/* Heads of C/H channels that share keys, half of them rotated. */
static void set_stablelm(tg_config *c)
{
    c->n_embd = 24;
    c->head_dim = 0;
    c->qkv_bias = true;
    c->rope_dim = 2;
}

static void set_nanochat(tg_config *c)
{
    c->activation = TG_RELU2;
    c->qk_norm = true;
    c->final_logit_softcapping = 3;
}

static const struct body {
    const char *name;
    const tg_family *family;
    void (*set)(tg_config *c);
} bodies[BODIES] = {
    {"llama", &tg_llama, set_llama},
    {"mistral", &tg_llama, set_mistral},
    {"qwen3", &tg_qwen3, set_qwen3},
    {"gemma2", &tg_gemma2, set_gemma2},
    {"gemma3", &tg_gemma3, set_gemma3},
    {"olmo2", &tg_olmo2, set_olmo2},
    {"neox", &tg_neox, set_neox},
    {"stablelm", &tg_stablelm, set_stablelm},
    {"nanochat", &tg_nanochat, set_nanochat},
};

const char *body_name(size_t i)
{
    return bodies[i].name;
}

void body_create(tg_model *m, size_t i)
{
    tg_config c = base();

    bodies[i].set(&c);
    small_model_create(m, small_family_config(bodies[i].family->name, c), 1);
    small_model_stir(m, 100, 0.5, 0.3);
}
