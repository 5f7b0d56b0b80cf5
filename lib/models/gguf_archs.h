/*
 * gguf_archs: the architectures of llama.cpp that are families of ours after GPT-2, and what their GGUF files
 * do not say.  Only for GGUF's reader and writer.
 *
 * Sources: src/models/NAME.cpp of llama.cpp, and gguf-py's constants.
 */
#ifndef TG_MODELS_GGUF_ARCHS_H
#define TG_MODELS_GGUF_ARCHS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/span.h"
#include "lib/models/model_format.h"

#define TG_GGUF_DIVISORS "rope_freqs.weight" /* the tensor with a divisor for each frequency of rotation */

typedef struct tg_gguf_arch {
    const char *architecture;
    const char *family;  /* ours */
    const char *epsilon; /* the key */
    tg_activation activation;
    bool pairs; /* its converter turns the rows of q and k */
    bool qk_norm;
    bool scaled;         /* the vectors of tokens, by sqrt(C) */
    bool capped;         /* scores and logits: attn_logit_softcapping, final_logit_softcapping */
    bool partly;         /* rotated: rope.dimension_count channels */
    bool parallel;       /* attention and MLP read the same */
    bool serial;         /* they do if there is no blk.N.ffn_norm */
    bool same_rotation;  /* with and without a window, scaled or not */
    bool all_windows;    /* all layers have the window, if there is one */
    size_t windows;      /* of so many layers all but the last have the window; 0: none has, or all */
    size_t window;       /* where the file does not say it */
    double window_theta; /* the base of these; 0: of all layers */
    size_t unrotated;    /* every so many layers, the last of them does not rotate; 0: all do */
    size_t wide_scale;   /* layers of the one size whose scores are divided by sqrt(C / H), not sqrt(D) */
    const tg_names *names;
    /* what only llama.cpp asks of a file */
    bool biases;   /* attention's projection back and the MLP may have biases */
    bool qkv_bias; /* queries, keys and values always have biases */
    bool out_bias; /* attention's projection back always has one */
    bool fused;    /* the parameters that the names have in one tensor are in one */
    bool divisors; /* it reads TG_GGUF_DIVISORS */
    bool square;   /* the channels of all heads are as many as the model's */
    bool tied;     /* the head is always the embedding */
    bool head;     /* a head must be there, also where it is the embedding */
} tg_gguf_arch;

/* The architecture of that name, or for a model of ours; NULL: there is none. */
const tg_gguf_arch *tg_gguf_arch_named(tg_span architecture);
const tg_gguf_arch *tg_gguf_arch_for(const tg_config *config);

/* All names, "llama, qwen2, ...", for a message. */
const char *tg_gguf_arch_names(void);

/* Whether it rotates the queries and keys of a layer. */
bool tg_gguf_arch_rotates(const tg_gguf_arch *a, size_t layer);

/* By what scores are multiplied in a model of this size; 0: 1 / sqrt(D). */
double tg_gguf_arch_scale(const tg_gguf_arch *a, const tg_config *config);

#endif
