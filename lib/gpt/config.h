/*
 * config: what a model is made of.
 *
 * GPT-2's architecture with the choices that tell its relatives apart.  C is
 * n_embd, L n_layer, H n_head, D = C/H, T at most n_ctx, V vocab_size.
 */
#ifndef TG_GPT_CONFIG_H
#define TG_GPT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/nn/gelu.h"

typedef struct tg_config {
    const struct tg_family *family; /* lib/gpt/family.h; NULL: GPT-2's, the only one in archives */
    size_t n_layer;
    size_t n_head; /* divides n_embd */
    size_t n_embd;
    size_t n_ctx; /* positions */
    size_t vocab_size;
    double layer_norm_epsilon;
    tg_gelu_kind activation; /* stored as "gelu_new" (tanh) or "gelu" (erf) */
    bool layer_norm_weight;  /* gains */
    bool layer_norm_bias;
    bool linear_bias; /* biases of the four linears in a block */
    bool tied;        /* the head is the token embedding; else lm_head.weight */
    bool head_bias;   /* lm_head.bias */
} tg_config;

/* Limits that keep every product of sizes far from overflow, and every index of a
 * token or position within int32_t. */
#define TG_SIZE_LIMIT 16777216
#define TG_LAYERS_MAX 112 /* 12 tensors a layer, thrice with the optimizer, in 4,096 names */

/* The presets' names, "tinygpt|baby|gpt2|gpt2-medium|gpt2-large|gpt2-xl". */
#define TG_PRESETS "tinygpt|baby|gpt2|gpt2-medium|gpt2-large|gpt2-xl"
#define TG_PRESET_DEFAULT 1 /* baby */

/* Preset number i of that list; its name, or NULL when there are not that many. */
tg_config tg_config_preset(size_t i);
const char *tg_config_preset_name(size_t i);

/* H heads are at least one and divide the width C.  Else `code` (TG_EDATA when a file
 * says so, TG_EUSAGE when the user does), with the numbers that are possible. */
TG_MUST_CHECK tg_status tg_config_check_heads(size_t H, size_t C, tg_status code, tg_err *err);

/* Every value in range, H divides C, sizes do not overflow.  TG_EDATA, with the
 * names and numbers. */
TG_MUST_CHECK tg_status tg_config_check(const tg_config *config, tg_err *err);

/* Write config/n_layer ... */
TG_MUST_CHECK tg_status tg_config_put(const tg_config *config, tg_archive_writer *w, tg_err *err);

/*
 * Take the current array if its name begins with "config/"; *taken says so.
 * *seen (zeroed at first) collects which values were there.  When all have been
 * offered, tg_config_complete() checks that none is missing, and tg_config_check().
 */
TG_MUST_CHECK tg_status tg_config_take(tg_config *config, unsigned *seen, tg_archive_reader *r,
                                       const tg_array *a, bool *taken, tg_err *err);
TG_MUST_CHECK tg_status tg_config_complete(const tg_config *config, unsigned seen, tg_err *err);

#endif
