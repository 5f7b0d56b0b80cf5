#include "lib/models/gguf_archs.h"

#include <string.h>

static const tg_gguf_arch archs[] = {
#define GATED .epsilon = "attention.layer_norm_rms_epsilon", .names = &tg_names_gguf_gated
    {"llama", "llama", GATED, .activation = TG_SILU, .pairs = true, .biases = true, .divisors = true},
    {"qwen2", "qwen2", GATED, .activation = TG_SILU, .qkv_bias = true, .square = true},
    {"qwen3", "qwen3", GATED, .activation = TG_SILU, .qk_norm = true},
    {"gemma", "gemma", GATED, .activation = TG_GELU_TANH, .scaled = true, .tied = true},
    {"gemma2", "gemma2", GATED, .activation = TG_GELU_TANH, .scaled = true, .capped = true, .windows = 2,
     .window = 4096, .same_rotation = true, .wide_scale = 46, .tied = true},
    {"gemma3", "gemma3", GATED, .activation = TG_GELU_TANH, .scaled = true, .qk_norm = true, .windows = 6,
     .window_theta = 10000, .wide_scale = 62},
    {"olmo2", "olmo2", GATED, .activation = TG_SILU, .qk_norm = true, .windows = 4, .square = true,
     .head = true},
    /* transformers computes the exact GELU, llama.cpp the other form */
    {"gptneox", "gpt_neox", .names = &tg_names_gguf_neox, .epsilon = "attention.layer_norm_epsilon",
     .activation = TG_GELU_ERF, .partly = true, .fused = true, .head = true},
};
enum { ARCHS = sizeof archs / sizeof archs[0] };

const tg_gguf_arch *tg_gguf_arch_named(tg_span architecture)
{
    for (size_t i = 0; i < ARCHS; i++)
        if (tg_span_is(architecture, archs[i].architecture))
            return &archs[i];
    return NULL;
}

const tg_gguf_arch *tg_gguf_arch_for(const char *family)
{
    for (size_t i = 0; i < ARCHS; i++)
        if (strcmp(archs[i].family, family) == 0)
            return &archs[i];
    return NULL;
}
