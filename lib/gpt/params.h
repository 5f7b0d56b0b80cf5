/*
 * params: the parameter table.
 *
 * It is built from the rows of the model's family (lib/gpt/gpt2_params.c) and drives size,
 * placement, initialisation, saving, loading, gradients, the optimizer and tests.  Names
 * and layouts are Hugging Face's: linear weights of GPT-2 are [in,out], y = x W + b, and of
 * other families [out,in], y = x W^T + b.
 */
#ifndef TG_GPT_PARAMS_H
#define TG_GPT_PARAMS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"
#include "lib/base/watch.h"
#include "lib/gpt/config.h"

/* What a parameter is.  A family of models uses some of these; one that is not in lib/gpt gives those of its
 * own numbers from TG_PARAM_OWN on.  The bias of a weight, and of a gain, is the kind after it.  Shapes are
 * GPT-2's; the matrices of other families are [out,in] (lib/gpt/llama_params.c). */
typedef unsigned tg_param_kind;
enum {
    TG_WTE,        /* wte.weight                 [V,C]  */
    TG_WPE,        /* wpe.weight                 [n_ctx,C] */
    TG_LN1_W,      /* h.N.ln_1.weight            [C]    */
    TG_LN1_B,      /* h.N.ln_1.bias              [C]    */
    TG_QKV_W,      /* h.N.attn.c_attn.weight     [C,3C] */
    TG_QKV_B,      /* h.N.attn.c_attn.bias       [3C]   */
    TG_ATT_PROJ_W, /* h.N.attn.c_proj.weight     [C,C]  */
    TG_ATT_PROJ_B, /* h.N.attn.c_proj.bias       [C]    */
    TG_LN2_W,      /* h.N.ln_2.weight            [C]    */
    TG_LN2_B,      /* h.N.ln_2.bias              [C]    */
    TG_FC_W,       /* h.N.mlp.c_fc.weight        [C,4C] */
    TG_FC_B,       /* h.N.mlp.c_fc.bias          [4C]   */
    TG_FC_PROJ_W,  /* h.N.mlp.c_proj.weight      [4C,C] */
    TG_FC_PROJ_B,  /* h.N.mlp.c_proj.bias        [C]    */
    TG_LNF_W,      /* ln_f.weight                [C]    */
    TG_LNF_B,      /* ln_f.bias                  [C]    */
    TG_HEAD_W,     /* lm_head.weight             [V,C], only when untied */
    TG_HEAD_B,     /* lm_head.bias               [V]    */

    /* in other families: instead of TG_QKV_W a matrix each, with or without bias; then norms of q and k, the
     * two other matrices of a gated MLP, and norms of what a sublayer adds */
    TG_Q_W,
    TG_Q_B,
    TG_K_W,
    TG_K_B,
    TG_V_W,
    TG_V_B,
    TG_Q_NORM_W,
    TG_Q_NORM_B,
    TG_K_NORM_W,
    TG_K_NORM_B,
    TG_GATE_W,
    TG_GATE_B,
    TG_UP_W,
    TG_UP_B,
    TG_OUT_NORM_W,
    TG_OUT_NORM_B,
    TG_DOWN_NORM_W,
    TG_DOWN_NORM_B,

    TG_PARAM_OWN,
    TG_PARAM_KINDS = TG_PARAM_OWN + 8
};

/* A dimension, in terms of the config. */
typedef enum tg_dim {
    TG_DIM_NONE,     /* no second dimension: a vector; one element for each token */
    TG_DIM_ZERO,     /* where the first of several parts begins */
    TG_DIM_C,        /* the residual stream */
    TG_DIM_HEADS,    /* heads */
    TG_DIM_KV_HEADS, /* heads of keys and values */
    TG_DIM_D,        /* channels of a head */
    TG_DIM_Q,        /* those of all heads: C in GPT-2 */
    TG_DIM_KV,       /* of all keys, or of all values: C in GPT-2 */
    TG_DIM_Q_KV,     /* Q + KV: where the values begin in q, k, v side by side */
    TG_DIM_QKV,      /* Q + 2 KV: 3C in GPT-2 */
    TG_DIM_INNER,    /* of the MLP: 4C in GPT-2 */
    TG_DIM_CTX,
    TG_DIM_VOCAB
} tg_dim;

size_t tg_dim_size(tg_dim dim, const tg_config *config); /* TG_DIM_NONE: 1 */

/* When a model has a parameter, and how it is initialised: zeros, gains of 1, or GPT-2's normal
 * distribution, which is narrower for residual projections. */
typedef enum tg_when {
    TG_ALWAYS,
    TG_IF_LN_WEIGHT,
    TG_IF_LN_BIAS,
    TG_IF_LINEAR_BIAS,
    TG_IF_UNTIED,
    TG_IF_HEAD_BIAS,
    TG_IF_QKV_BIAS,
    TG_IF_OUT_BIAS,
    TG_IF_MLP_BIAS,
    TG_IF_QK_NORM,
    TG_WHENS /* how many there are */
} tg_when;
typedef enum tg_start {
    TG_START_ZERO,
    TG_START_GAIN, /* 1 - norm_offset: 1, or 0 in Gemma */
    TG_START_NORMAL,
    TG_START_RESIDUAL
} tg_start;

/* How a pass uses a parameter. */
typedef enum tg_use {
    TG_USE_MATRIX, /* of a product: its gradient is another product; it can be packed for few tokens */
    TG_USE_BIAS,   /* of such a layer */
    TG_USE_TABLE,  /* rows of it are looked up */
    TG_USE_NORM    /* each channel is multiplied with it, or it is added to each */
} tg_use;

/* One row of a family's table of parameters. */
typedef struct tg_param_row {
    tg_param_kind kind;
    tg_use use;
    const char *name; /* in a block, without the prefix "h.N." */
    bool in_block;    /* once per block; such rows are adjacent */
    tg_dim dim[2];    /* the second is TG_DIM_NONE, 0, for a vector */
    tg_when when;     /* 0: always */
    tg_start start;   /* 0: zeros */
} tg_param_row;

/* Whether a config has what depends on `when`. */
bool tg_config_when(tg_when when, const tg_config *config);

/* Which tensor is the head's matrix [V,C]: its own, or the token embedding. */
static inline tg_param_kind tg_head_kind(const tg_config *config)
{
    return config->tied ? TG_WTE : TG_HEAD_W;
}

typedef struct tg_param {
    char name[64];
    tg_param_kind kind;
    tg_use use;
    size_t layer; /* 0 for those outside the blocks */
    bool in_block;
    size_t ndim, shape[2];
    bool transposed;  /* a matrix of a product, [out,in]: all heads, and the layers of some families */
    size_t count;     /* elements */
    size_t offset;    /* in a flat buffer, in floats; a multiple of 16 */
    double mean, std; /* initialisation: normal, or the constant mean when std is 0 */
    bool decay;       /* weight decay applies: matrices only */
    bool hidden;      /* a matrix of a product in a block: what Muon updates */
} tg_param;

typedef struct tg_params {
    tg_param *entry; /* [n], in the order of the file, and of memory unless it is split; owned */
    size_t n;
    size_t count;                 /* parameters */
    size_t floats;                /* size of a flat buffer for all, padding included */
    size_t first[TG_PARAM_KINDS]; /* index of a kind's entry in layer 0; SIZE_MAX: there is none */
    size_t per_layer;             /* entries in one block */
    size_t blocks;                /* their number */
    size_t *block_begin; /* [blocks + 1] where each begins in a flat buffer, and where the last ends; owned */
} tg_params;

/* An empty table with room for `max` entries.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_params_begin(tg_params *table, size_t max, size_t blocks, tg_err *err);

/* Append an entry, complete except its place, which is after the others; returns it. */
const tg_param *tg_params_append(tg_params *table, const tg_param *p);

/* The table of a checked config.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_params_build(tg_params *table, const tg_config *config, tg_err *err);

/*
 * Put the entries that are not frozen ([table->n], 1 if an entry is, else 0) first in memory: *trained has
 * these alone, with the same offsets, so that its flat buffer is the beginning of the table's.  Both are in
 * the order of the file.  tg_params_index() does not know *trained, and differences alone of the table's
 * block_begin are right then.  TG_ENOMEM: the table is unchanged.
 */
TG_MUST_CHECK tg_status tg_params_split(tg_params *trained, tg_params *table, const unsigned char *frozen,
                                        tg_err *err);
void tg_params_free(tg_params *table);

/* The entry's index, or table->n when the config leaves this kind out. */
size_t tg_params_index(const tg_params *table, tg_param_kind kind, size_t layer);

/* The entry of that name, or NULL. */
const tg_param *tg_params_find(const tg_params *table, const char *name);

/*
 * GPT-2's initialisation into flat [table->floats]: normal with standard deviation
 * 0.02, residual projections 0.02/sqrt(2L), gains 1, biases 0.  A value depends only on
 * the seed, the tensor's index and the element's.  watch, which cannot abandon it, may be NULL.
 */
void tg_params_init(const tg_params *table, float *flat, unsigned long long seed, const tg_watch *watch);

#endif
