#include "lib/models/gguf_archs.h"

#include <math.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "lib/models/canonical.h"

/* clang-format off */
#define RMS "attention.layer_norm_rms_epsilon"
#define LAYER "attention.layer_norm_epsilon"
#define GATED .epsilon = RMS, .names = &tg_names_gguf_gated
#define SILU GATED, .activation = TG_SILU
#define GEMMA GATED, .activation = TG_GELU_TANH, .scaled = true
/* transformers computes NeoX's exact GELU, llama.cpp the other form */
#define ROWS(row)                                                                                            \
    row("llama",   .family = "llama", SILU, .pairs = true, .biases = true, .divisors = true)                 \
    row("smollm3", .family = "llama", SILU, .pairs = true, .unrotated = 4)                                   \
    row("qwen2",   .family = "qwen2", SILU, .qkv_bias = true, .square = true)                                \
    row("qwen3",   .family = "qwen3", SILU, .qk_norm = true)                                                 \
    row("gemma",   .family = "gemma", GEMMA, .tied = true)                                                    \
    row("gemma2",  .family = "gemma2", GEMMA, .tied = true, .capped = true, .windows = 2, .window = 4096,    \
        .same_rotation = true, .wide_scale = 46)                                                             \
    row("gemma3",  .family = "gemma3", GEMMA, .qk_norm = true, .windows = 6, .window_theta = 10000,          \
        .wide_scale = 62)                                                                                    \
    row("olmo2",   .family = "olmo2", SILU, .qk_norm = true, .windows = 4, .square = true, .head = true)     \
    row("phi3",    .family = "phi3", .epsilon = RMS, .names = &tg_names_gguf_phi3, .activation = TG_SILU,    \
        .partly = true, .fused = true, .all_windows = true, .same_rotation = true, .square = true)           \
    row("gptneox", .family = "gpt_neox", .names = &tg_names_gguf_neox,                                       \
        .epsilon = LAYER, .activation = TG_GELU_ERF, .partly = true, .parallel = true, .fused = true,        \
        .qkv_bias = true, .out_bias = true, .head = true)                                                    \
    row("stablelm", .family = "stablelm", .names = &tg_names_gguf_gated, .epsilon = LAYER,                   \
        .activation = TG_SILU, .partly = true, .serial = true, .head = true)
/* clang-format on */
#define ROW(name, ...) {.architecture = (name), __VA_ARGS__},
#define AND_NAME(name, ...) ", " name

static const tg_gguf_arch archs[] = {ROWS(ROW)};
enum { ARCHS = sizeof archs / sizeof archs[0] };

const char *tg_gguf_arch_names(void)
{
    return &(ROWS(AND_NAME))[2]; /* without the first comma */
}

const tg_gguf_arch *tg_gguf_arch_named(tg_span architecture)
{
    for (size_t i = 0; i < ARCHS; i++)
        if (tg_span_is(architecture, archs[i].architecture))
            return &archs[i];
    return NULL;
}

/* Of a family's architectures, one that leaves layers without rotation is for models that do. */
const tg_gguf_arch *tg_gguf_arch_for(const tg_config *config)
{
    const char *const family = tg_config_family(config)->name;
    const bool all_rotate = tg_config_canonical(config).unrotated_layers == 0;
    const tg_gguf_arch *found = NULL;

    for (size_t i = 0; i < ARCHS; i++)
        if (strcmp(archs[i].family, family) == 0 && (!found || !all_rotate))
            found = &archs[i];
    return found;
}

bool tg_gguf_arch_rotates(const tg_gguf_arch *a, size_t layer)
{
    return a->unrotated == 0 || (layer + 1) % a->unrotated != 0;
}

double tg_gguf_arch_scale(const tg_gguf_arch *a, const tg_config *c)
{
    const size_t wide = c->n_head > 0 ? c->n_embd / c->n_head : 0;

    return a->wide_scale > 0 && c->n_layer == a->wide_scale ? 1 / sqrt((double)wide) : 0;
}
