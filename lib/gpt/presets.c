#include "lib/gpt/presets.h"

#include "lib/gpt/family.h"

/* What the bodies have in common. */
#define GPT2                                                                                                 \
    .layer_norm_epsilon = 1e-5, .activation = TG_GELU_TANH, .layer_norm_weight = true,                       \
    .layer_norm_bias = true, .linear_bias = true, .tied = true
#define TINYGPT .layer_norm_epsilon = 1e-5, .activation = TG_GELU_TANH, .linear_bias = true, .head_bias = true
#define LLAMA(theta) .layer_norm_epsilon = 1e-5, .activation = TG_SILU, .tied = true, .rope_theta = (theta)
#define QWEN .layer_norm_epsilon = 1e-6, .activation = TG_SILU, .tied = true, .rope_theta = 1e6
#define GEMMA(theta)                                                                                         \
    .layer_norm_epsilon = 1e-6, .activation = TG_GELU_TANH, .tied = true, .rope_theta = (theta),             \
    .norm_offset = 1
/* every other layer has a window, from the first on */
#define GEMMA2 GEMMA(1e4), .attn_cap = 50, .final_logit_softcapping = 30, .window_layers = 0x5555555555555555
/* five layers of six have a window, the sixth has none */
#define GEMMA3 GEMMA(1e6), .rope_local_theta = 1e4, .qk_norm = true, .window_layers = 0xF7DF7DF7DF7DF7DF
#define OLMO2 .layer_norm_epsilon = 1e-6, .activation = TG_SILU, .rope_theta = 5e5, .qk_norm = true
#define NEOX                                                                                                 \
    .layer_norm_epsilon = 1e-5, .activation = TG_GELU_ERF, .rope_theta = 1e4, .qkv_bias = true,              \
    .out_bias = true
#define PHI3 .layer_norm_epsilon = 1e-5, .activation = TG_SILU, .rope_theta = 1e4
#define STABLELM .layer_norm_epsilon = 1e-5, .activation = TG_SILU, .rope_theta = 1e4, .qkv_bias = true
#define NANOCHAT                                                                                             \
    .layer_norm_epsilon = 1e-6, .activation = TG_RELU2, .rope_theta = 1e4, .qk_norm = true,                  \
    .final_logit_softcapping = 15

/* clang-format off */
/*      name             family      L   H   C      n_ctx V      the rest */
#define PRESETS(row)                                                                                         \
    row("tinygpt",       "gpt2",      2,  1,   64,    64,    256, TINYGPT) /* the guides' baseline */        \
    row("baby",          "gpt2",      4,  4,  128,    64,    256, GPT2) /* nanoGPT's for a CPU, on bytes */  \
    row("gpt2",          "gpt2",     12, 12,  768,  1024,  50257, GPT2)                                      \
    row("gpt2-medium",   "gpt2",     24, 16, 1024,  1024,  50257, GPT2)                                      \
    row("gpt2-large",    "gpt2",     36, 20, 1280,  1024,  50257, GPT2)                                      \
    row("gpt2-xl",       "gpt2",     48, 25, 1600,  1024,  50257, GPT2)                                      \
    row("baby-llama",    "llama",     4,  4,  128,    64,    256, LLAMA(1e4), .n_kv_head = 2, .n_inner = 384) \
    row("smollm2-135m",  "llama",    30,  9,  576,  8192,  49152, LLAMA(1e5), .n_kv_head = 3, .n_inner = 1536) \
    row("smollm2-360m",  "llama",    32, 15,  960,  8192,  49152, LLAMA(1e5), .n_kv_head = 5, .n_inner = 2560) \
    row("llama3.2-1b",   "llama",    16, 32, 2048, 131072, 128256, LLAMA(5e5), .n_kv_head = 8,               \
        .n_inner = 8192, .rope_scaling = TG_ROPE_LLAMA3, .rope_factor = 32, .rope_low_freq = 1,              \
        .rope_high_freq = 4, .rope_ctx = 8192)                                                               \
    row("baby-qwen2",    "qwen2",     4,  4,  128,    64,    256, QWEN, .n_kv_head = 2, .n_inner = 384,      \
        .qkv_bias = true)                                                                                    \
    row("qwen2.5-0.5b",  "qwen2",    24, 14,  896, 32768, 151936, QWEN, .n_kv_head = 2, .n_inner = 4864,     \
        .qkv_bias = true)                                                                                    \
    row("baby-qwen3",    "qwen3",     4,  4,  128,    64,    256, QWEN, .n_kv_head = 2, .head_dim = 64,      \
        .n_inner = 384, .qk_norm = true)                                                                     \
    row("qwen3-0.6b",    "qwen3",    28, 16, 1024, 40960, 151936, QWEN, .n_kv_head = 8, .head_dim = 128,     \
        .n_inner = 3072, .qk_norm = true)                                                                    \
    row("baby-gemma",    "gemma",     4,  4,  128,    64,    256, GEMMA(1e4), .n_kv_head = 1, .n_inner = 384) \
    row("baby-gemma2",   "gemma2",    4,  4,  128,    64,    256, GEMMA2, .n_kv_head = 2, .n_inner = 384,    \
        .window = 16)                                                                                        \
    row("baby-gemma3",   "gemma3",    6,  4,  128,    64,    256, GEMMA3, .n_kv_head = 1, .n_inner = 384,    \
        .window = 16)                                                                                        \
    row("gemma3-270m",   "gemma3",   18,  4,  640, 32768, 262144, GEMMA3, .n_kv_head = 1, .head_dim = 256,   \
        .n_inner = 2048, .window = 512)                                                                      \
    row("baby-olmo2",    "olmo2",     4,  4,  128,    64,    256, OLMO2, .n_inner = 384)                     \
    row("baby-neox",     "gpt_neox",  4,  4,  128,    64,    256, NEOX, .rope_dim = 8)                       \
    row("pythia-70m",    "gpt_neox",  6,  8,  512,  2048,  50304, NEOX, .rope_dim = 16)                      \
    row("pythia-160m",   "gpt_neox", 12, 12,  768,  2048,  50304, NEOX, .rope_dim = 16)                      \
    row("baby-phi3",     "phi3",      4,  4,  128,    64,    256, PHI3, .n_inner = 384)                      \
    row("baby-stablelm", "stablelm",  4,  4,  128,    64,    256, STABLELM, .n_inner = 384, .rope_dim = 8)   \
    row("baby-nanochat", "nanochat",  4,  4,  128,    64,    256, NANOCHAT)

#define PRESET(preset, of, L, H, C, T, V, ...)                                                               \
    {preset, of, {.n_layer = L, .n_head = H, .n_embd = C, .n_ctx = T, .vocab_size = V, __VA_ARGS__}},
/* clang-format on */
#define AND_NAME(preset, ...) "|" preset

static const struct preset {
    const char *name;
    const char *family;
    tg_config config;
} presets[] = {PRESETS(PRESET)};
#define N_PRESETS (sizeof presets / sizeof presets[0])

const char *tg_config_presets(void)
{
    return &(PRESETS(AND_NAME))[1]; /* without the first bar */
}

const char *tg_config_preset_name(size_t i)
{
    return i < N_PRESETS ? presets[i].name : NULL;
}

tg_config tg_config_preset(size_t i)
{
    tg_config config = presets[i].config;

    config.family = tg_family_number(presets[i].family);
    return config;
}
