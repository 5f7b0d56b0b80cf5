/* What llama.cpp's architectures cannot say of a model: each member of a config that no key says has the
 * value that the architecture assumes. */
#include <math.h>
#include <stdio.h>

#include "lib/gpt/family.h"
#include "lib/models/canonical.h"
#include "lib/models/gguf_vocab.h"
#include "lib/models/gguf_write_families.h"
#include "lib/models/writing.h"

#define BIT(member) TG_CONFIG_BIT(TG_CONFIG_##member)

/* ---- members */

/* Those that keys or tensors say; norm_offset is added to the gains. */
static uint64_t said(const tg_gguf_arch *a)
{
    uint64_t members = BIT(N_LAYER) | BIT(N_HEAD) | BIT(N_EMBD) | BIT(N_CTX) | BIT(VOCAB_SIZE) |
                       BIT(LAYER_NORM_EPSILON) | BIT(N_KV_HEAD) | BIT(HEAD_DIM) | BIT(N_INNER) |
                       BIT(ROPE_THETA) | BIT(QKV_BIAS) | BIT(ROPE_SCALING) | BIT(ROPE_FACTOR) |
                       BIT(ROPE_LOW_FREQ) | BIT(ROPE_HIGH_FREQ) | BIT(ROPE_CTX) | BIT(NORM_OFFSET);

    if (!a->tied)
        members |= BIT(TIED);
    if (a->biases || a->out_bias)
        members |= BIT(OUT_BIAS);
    if (a->biases)
        members |= BIT(MLP_BIAS);
    if (a->partly)
        members |= BIT(ROPE_DIM);
    if (a->unrotated > 0)
        members |= BIT(UNROTATED_LAYERS);
    if (a->windows > 0 || a->all_windows)
        members |= BIT(WINDOW) | BIT(WINDOW_LAYERS);
    if (a->windows > 0)
        members |= BIT(ROPE_LOCAL_THETA);
    if (a->capped)
        members |= BIT(ATTN_CAP) | BIT(FINAL_LOGIT_SOFTCAPPING);
    return members;
}

/* What the others are. */
static tg_config fixed(const tg_gguf_arch *a, const tg_config *c)
{
    return (tg_config){
        .tied = a->tied,
        .qk_norm = a->qk_norm,
        .activation = a->activation,
        .attn_scale = tg_gguf_arch_scale(a, c),
        .embed_scale = a->scaled ? sqrt((double)c->n_embd) : 1,
    };
}

/* Whether the vectors of tokens are multiplied with sqrt(C) as transformers has it in a type of 16 bits. */
static bool is_rounded(const tg_gguf_arch *a, const tg_config *c)
{
    return a->scaled && tg_scale_type(c) != TG_WRITE_F32;
}

/* The config that is compared with these. */
static tg_config comparable(const tg_gguf_arch *a, const tg_config *config)
{
    tg_config c = tg_config_canonical(config);

    if (tg_same_float(config->attn_scale, tg_gguf_arch_scale(a, config)))
        c.attn_scale = tg_gguf_arch_scale(a, config);
    if (is_rounded(a, config))
        c.embed_scale = sqrt((double)config->n_embd);
    return c;
}

static tg_status check_fixed(const tg_gguf_arch *a, const tg_config *config, tg_err *err)
{
    const tg_config c = comparable(a, config), want = fixed(a, config);

    return tg_config_check_fixed(config, &c, &want, said(a), "llama.cpp's", a->architecture, err);
}

/* ---- values that some members cannot have */

/* llama.cpp has float32 for it whatever the type of the weights. */
static tg_status check_scale(const tg_gguf_arch *a, const tg_config *c, bool lossy, tg_notes *notes,
                             tg_err *err)
{
    char what[128];

    if (!is_rounded(a, c))
        return TG_OK;
    snprintf(what, sizeof what, "it multiplies the vectors of tokens with %.9g, the model with %.9g",
             sqrt((double)c->n_embd), c->embed_scale);
    return tg_lose(notes, lossy, err, "llama.cpp", what);
}

/* llama.cpp divides by both. */
static tg_status check_caps(const tg_gguf_arch *a, const tg_config *c, tg_err *err)
{
    const char *const name = c->attn_cap == 0 ? "config/attn_cap" : "config/final_logit_softcapping";

    if (!a->capped || (c->attn_cap > 0 && c->final_logit_softcapping > 0))
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "%s is 0, but llama.cpp's \"%s\" needs a cap", name, a->architecture);
}

/* Layers with a window: Gemma 2 rotates them as the others, or with a base of their own, but the same
 * scaling; in Gemma 3 and OLMo 2 they are not scaled. */
static tg_status check_rotation(const tg_gguf_arch *a, const tg_config *config, tg_err *err)
{
    const tg_config c = tg_config_canonical(config);
    const bool local = c.rope_local_theta > 0;
    char scaling[TG_CHOICE_SIZE];

    if (c.rope_scaling == TG_ROPE_LLAMA3 && !a->divisors)
        return tg_fail(err, TG_EUSAGE,
                       "config/rope_scaling is %s, but llama.cpp's \"%s\" can only have none or linear",
                       tg_config_scaling(scaling, &c), a->architecture);
    if (c.rope_scaling == TG_ROPE_PLAIN || c.window == 0 || local != a->same_rotation)
        return TG_OK;
    return tg_fail(
        err, TG_EUSAGE,
        "config/rope_scaling is %s, but llama.cpp's \"%s\" %s the rotation of layers with a window",
        tg_config_scaling(scaling, &c), a->architecture, local ? "scales also" : "does not scale");
}

/* Which layers do not rotate is the architecture's. */
static tg_status check_unrotated(const tg_gguf_arch *a, const tg_config *c, tg_err *err)
{
    size_t l = 0;

    while (l < c->n_layer && (a->unrotated == 0 || tg_config_rotates(c, l) == tg_gguf_arch_rotates(a, l)))
        l++;
    if (l >= c->n_layer)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE,
                   "config/unrotated_layers is %llu: layer %zu %s, but llama.cpp's \"%s\" rotates all layers "
                   "except every %zuth",
                   (unsigned long long)c->unrotated_layers, l,
                   tg_config_rotates(c, l) ? "rotates" : "does not rotate", a->architecture, a->unrotated);
}

/* Where all layers have the window, llama.cpp reads it and does not use it. */
static tg_status check_windows(const tg_gguf_arch *a, const tg_config *config, tg_notes *notes, tg_err *err)
{
    const tg_config c = tg_config_canonical(config);

    if (!a->all_windows || c.window == 0)
        return TG_OK;
    if (!tg_config_has_same_windows(&c))
        return tg_fail(err, TG_EUSAGE,
                       "config/window_layers is %llu, but llama.cpp's \"%s\" has the window in all layers or "
                       "in none",
                       (unsigned long long)c.window_layers, a->architecture);
    return tg_notes_add(
        notes, err,
        "llama.cpp does not use the window of %zu keys: for longer texts it computes something "
        "else",
        c.window);
}

static tg_status check_square(const tg_gguf_arch *a, const tg_config *c, tg_err *err)
{
    const size_t width = c->n_head * tg_config_head_dim(c);

    if (!a->square || width == c->n_embd)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE,
                   "config/head_dim is %zu, but llama.cpp's \"%s\" needs config/n_embd / config/n_head, "
                   "%zu / %zu",
                   tg_config_head_dim(c), a->architecture, c->n_embd, c->n_head);
}

tg_status tg_gguf_family_check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes,
                               tg_err *err)
{
    const tg_config *c = &f->config;
    const tg_gguf_arch *a = tg_gguf_arch_for(c);
    tg_status status;

    if (!a)
        return tg_names_check_family(&tg_names_gguf, c, "a GGUF file", err);
    if (o->split_qkv)
        return tg_fail(err, TG_EUSAGE, "--split-qkv is for GPT-2: llama.cpp's \"%s\" has %s", a->architecture,
                       a->fused ? "q, k and v joined" : "separate matrices anyway");
    if ((status = check_fixed(a, c, err)) || (status = check_scale(a, c, o->lossy, notes, err)) ||
        (status = check_caps(a, c, err)) || (status = check_rotation(a, c, err)) ||
        (status = check_unrotated(a, c, err)) || (status = check_windows(a, c, notes, err)) ||
        (status = check_square(a, c, err)))
        return status;
    return tg_gguf_note_types(c, o->type, notes, err);
}
