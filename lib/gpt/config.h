/*
 * config: the shape of a model.
 *
 * GPT-2's architecture, with options where its relatives differ, and what other families have besides them
 * (lib/gpt/family.h).  C is n_embd, L n_layer, H n_head, D head_dim, T at most n_ctx, V vocab_size.
 */
#ifndef TG_GPT_CONFIG_H
#define TG_GPT_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "formats/fields.h"
#include "lib/base/status.h"
#include "lib/nn/activation.h"
#include "lib/nn/ref/rule.h"

/* The names of tg_activation, which are also Hugging Face's. */
#define TG_ACTIVATIONS "gelu_new|gelu|silu|relu2"

/* Layers that a set of layers can hold, bit i for layer i: the first ones of a model. */
#define TG_LAYER_BITS 64

/* How frequencies of rotation are changed for long contexts (lib/gpt/rope.h). */
typedef enum tg_rope_scaling { TG_ROPE_PLAIN, TG_ROPE_LINEAR, TG_ROPE_LLAMA3 } tg_rope_scaling;

typedef struct tg_config {
    unsigned family; /* its number in tg_families (lib/gpt/family.h); archives have its name */
    size_t n_layer;
    size_t n_head; /* divides n_embd, unless there is a head_dim */
    size_t n_embd;
    size_t n_ctx; /* positions */
    size_t vocab_size;
    double layer_norm_epsilon;
    tg_activation activation; /* stored by its name in TG_ACTIVATIONS */
    bool layer_norm_weight;   /* gains */
    bool layer_norm_bias;
    bool linear_bias; /* biases of the four linears in a block */
    bool tied;        /* the head is the token embedding; otherwise lm_head.weight */
    bool head_bias;   /* lm_head.bias */
    /* Of families that have these settings; 0 in others. */
    size_t n_kv_head;  /* heads of keys and values, a divisor of n_head; 0: n_head */
    size_t head_dim;   /* channels of a head; 0: n_embd / n_head */
    size_t n_inner;    /* channels of the MLP; 0: 4 n_embd */
    double rope_theta; /* base of the angles by which queries and keys are rotated */
    bool qkv_bias;     /* biases of the projections to queries, keys and values, */
    bool out_bias;     /* of attention's projection back, */
    bool mlp_bias;     /* and of the MLP's three */
    bool qk_norm;      /* each head's queries and keys are normed before they are rotated */
    tg_rope_scaling rope_scaling;
    double rope_factor;   /* of the scaling: 1 where there is none */
    double rope_low_freq; /* llama3: what these and the context say, lib/gpt/rope.h has */
    double rope_high_freq;
    size_t rope_ctx;         /* positions that the model was trained with before */
    size_t rope_dim;         /* channels of a head that are rotated, the first ones, an even number; 0: all */
    double rope_local_theta; /* of layers with a window; 0: rope_theta */
    uint64_t unrotated_layers;      /* those that do not rotate; of the first TG_LAYER_BITS */
    size_t window;                  /* a query sees this many keys, with its own; 0: all before it */
    uint64_t window_layers;         /* those that have the window; of the first TG_LAYER_BITS */
    double attn_scale;              /* of scores; 0: 1 / sqrt(D) */
    double attn_cap;                /* scores s become cap * tanh(s / cap); 0: no cap */
    double norm_offset;             /* added to the gains of norms: 1 in Gemma */
    double embed_scale;             /* of the vectors of tokens: sqrt(C) in Gemma, else 1 */
    double final_logit_softcapping; /* logits x become cap * tanh(x / cap); 0: no cap */
    /* Which tokens begin and end a text, where a checkpoint says so: 1 + the id.  0: the tokenizer's
     * (tg_tokenizer_start_of_text(), tg_tokenizer_end_of_text()).  Optional in archives:
     * config/bos_token_id, config/eos_token_id. */
    size_t bos_token, eos_token;
    bool add_bos; /* texts for the model begin with bos_token, which is then set; optional: config/add_bos */
} tg_config;

/* Limits that keep every product of sizes far from overflow, and every index of a token
 * or position within int32_t. */
#define TG_SIZE_LIMIT 16777216
/* Of at most 18 tensors each, within TG_NAMES_MAX; those with moments are counted in lib/train/run.c. */
#define TG_LAYERS_MAX 112

/* The members, in the order of the archive. */
typedef enum tg_config_id {
    TG_CONFIG_N_LAYER,
    TG_CONFIG_N_HEAD,
    TG_CONFIG_N_EMBD,
    TG_CONFIG_N_CTX,
    TG_CONFIG_VOCAB_SIZE,
    TG_CONFIG_LAYER_NORM_EPSILON,
    TG_CONFIG_ACTIVATION,
    TG_CONFIG_LAYER_NORM_WEIGHT,
    TG_CONFIG_LAYER_NORM_BIAS,
    TG_CONFIG_LINEAR_BIAS,
    TG_CONFIG_TIED,
    TG_CONFIG_HEAD_BIAS,
    TG_CONFIG_GPT2, /* how many GPT-2 has */
    TG_CONFIG_N_KV_HEAD = TG_CONFIG_GPT2,
    TG_CONFIG_HEAD_DIM,
    TG_CONFIG_N_INNER,
    TG_CONFIG_ROPE_THETA,
    TG_CONFIG_QKV_BIAS,
    TG_CONFIG_OUT_BIAS,
    TG_CONFIG_MLP_BIAS,
    TG_CONFIG_QK_NORM,
    TG_CONFIG_ROPE_SCALING,
    TG_CONFIG_ROPE_FACTOR,
    TG_CONFIG_ROPE_LOW_FREQ,
    TG_CONFIG_ROPE_HIGH_FREQ,
    TG_CONFIG_ROPE_CTX,
    TG_CONFIG_ROPE_DIM,
    TG_CONFIG_ROPE_LOCAL_THETA,
    TG_CONFIG_UNROTATED_LAYERS,
    TG_CONFIG_WINDOW,
    TG_CONFIG_WINDOW_LAYERS,
    TG_CONFIG_ATTN_SCALE,
    TG_CONFIG_ATTN_CAP,
    TG_CONFIG_NORM_OFFSET,
    TG_CONFIG_EMBED_SCALE,
    TG_CONFIG_FINAL_LOGIT_SOFTCAPPING,
    TG_CONFIG_MEMBERS /* how many there are */
} tg_config_id;

/* Their arrays, config/NAME; row i is tg_config_id i's.  A family has some of them. */
extern const tg_fields tg_config_fields;
#define TG_CONFIG_BIT(id) ((uint64_t)1 << (id))

/* Arrays of a config at most besides those: its family, and the optional ones. */
enum { TG_CONFIG_OPTIONAL = 3, TG_CONFIG_MORE = 1 + TG_CONFIG_OPTIONAL };

/* Whether its family has this member. */
bool tg_config_has(const tg_config *config, size_t id);

/* D and the number of heads of keys and values. */
size_t tg_config_head_dim(const tg_config *config);
size_t tg_config_kv_heads(const tg_config *config);

/* Channels of a head that are rotated. */
size_t tg_config_rope_dim(const tg_config *config);

/* All layers of a model that a set can hold, and whether a set holds a layer. */
static inline uint64_t tg_layer_mask(size_t n_layer)
{
    return n_layer < TG_LAYER_BITS ? ((uint64_t)1 << n_layer) - 1 : UINT64_MAX;
}
static inline bool tg_layer_in(uint64_t layers, size_t layer)
{
    return layer < TG_LAYER_BITS && layers >> layer & 1;
}

/* The window of a layer, 0 for none, and whether it rotates queries and keys. */
size_t tg_config_window(const tg_config *config, size_t layer);
bool tg_config_rotates(const tg_config *config, size_t layer);
tg_attention_rule tg_config_attention_rule(const tg_config *config, size_t layer);

/*
 * Give members that are 0, of those that the family has, a value: 1 to what scales rotation or embedding,
 * which changes nothing (tg_config_neutral); and what follows from the others (tg_config_derive): n_kv_head
 * that of n_head; head_dim C / H; n_inner 4 C; embed_scale sqrt(C) where norms have an offset; to a window
 * every layer, where it has none.  A rope_dim that is the width of a head becomes 0.  H is not 0.
 */
void tg_config_neutral(tg_config *config);
void tg_config_derive(tg_config *config);

/* Check that H >= 1 divides the width C.  Otherwise returns `code` (TG_EDATA for a number
 * from a file, TG_EUSAGE for one from the user), with the possible numbers. */
TG_MUST_CHECK tg_status tg_config_check_heads(size_t H, size_t C, tg_status code, tg_err *err);

/* Check that every value is in its range, and that heads can be divided.  TG_EDATA, with names and numbers.
 */
TG_MUST_CHECK tg_status tg_config_check(const tg_config *config, tg_err *err);

/* The same; in messages a member is not config/NAME but "NAME", where names[tg_config_id] is not NULL: as
 * another project's file calls it. */
TG_MUST_CHECK tg_status tg_config_check_as(const tg_config *config,
                                           const char *const names[TG_CONFIG_MEMBERS], tg_err *err);

/* Write config/n_layer and all others. */
TG_MUST_CHECK tg_status tg_config_put(const tg_config *config, tg_archive_writer *w, tg_err *err);

/*
 * Take the current array if its name begins with "config/"; *taken says so.  *seen, which
 * the caller sets to 0, collects the values that were read.  After the last array
 * tg_config_complete() checks that none is missing, and calls tg_config_check().  TG_EDATA:
 * a name that this version does not know, a value of another type.
 */
TG_MUST_CHECK tg_status tg_config_take(tg_config *config, uint64_t *seen, tg_archive_reader *r,
                                       const tg_array *a, bool *taken, tg_err *err);
TG_MUST_CHECK tg_status tg_config_complete(const tg_config *config, uint64_t seen, tg_err *err);

#endif
