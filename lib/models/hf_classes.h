/*
 * hf_classes: what the classes of transformers can say of a model, and under which keys of config.json.
 *
 * A class is a row: which family of ours it computes, its keys, and the values that members of tg_config have
 * in it without a key.  A model that differs in one of these is not the class's.
 * Sources: models/NAME/configuration_NAME.py and modeling_NAME.py of transformers 5.24 and 4.57, which both
 * read these keys.
 */
#ifndef TG_MODELS_HF_CLASSES_H
#define TG_MODELS_HF_CLASSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/gpt/config.h"
#include "lib/models/model_file.h"

/* How the value of a key says members of tg_config. */
typedef enum tg_hf_how {
    TG_HF_MEMBER,         /* it is the member: a size, a number, true or false */
    TG_HF_CAP,            /* likewise; null: 0 */
    TG_HF_CONSTANT,       /* it says nothing of ours, and is always as the row has it */
    TG_HF_ACTIVATION,     /* "silu", "gelu_pytorch_tanh", "gelu" or "relu2" */
    TG_HF_BIASES,         /* attention's four linear layers have biases, or none of them */
    TG_HF_ROTATED_PART,   /* channels that are rotated, as a part of a head's */
    TG_HF_ROTATED_LAYERS, /* for each layer: 1 if it rotates, else 0 */
    TG_HF_SCALING,        /* null, or an object with the scaling of rotation, its kind being "rope_type" */
    TG_HF_TYPED_SCALING,  /* likewise, its kind being "type" */
    TG_HF_LOCAL_THETA,    /* the base of rotation in layers with the window */
    TG_HF_SCALE,          /* x: scores are divided by its root.  An integer */
    TG_HF_WINDOW,         /* keys that a query sees; null: all before it */
    TG_HF_WINDOW_SIZE,    /* likewise, but never null */
    TG_HF_HAS_WINDOW,     /* some layer has the window */
    TG_HF_WINDOW_FIRST,   /* the first layer that has it */
    TG_HF_LAYER_TYPES /* for each layer: "sliding_attention" if it has the window, else "full_attention" */
} tg_hf_how;

typedef struct tg_hf_key {
    const char *name; /* "hidden_size" */
    tg_hf_how how;
    uint64_t members;  /* what it says: bits of tg_config_id */
    const char *value; /* of TG_HF_CONSTANT */
} tg_hf_key;

typedef struct tg_hf_class {
    const char *type;         /* "model_type": "llama" */
    const char *architecture; /* "LlamaForCausalLM" */
    const char *family;       /* ours */
    const tg_hf_key *key;     /* [n_keys] */
    size_t n_keys;
    bool qkv_bias;    /* queries, keys and values have biases, whatever the config says */
    bool qk_norm;     /* queries and keys are normed */
    bool gemma;       /* gains of norms are 1 + w, embeddings are multiplied with sqrt(C), act is GELU */
    bool same_window; /* of all layers, or of none */
    bool divides;     /* C must be a multiple of H, even if the channels of a head are given */
} tg_hf_class;

/* The class that a model is written for; NULL: there is none for its family. */
const tg_hf_class *tg_hf_class_for(const tg_config *config);

/* Refuse a model that this class computes otherwise from tensors of this type.  TG_EUSAGE, with the setting
 * and its value. */
TG_MUST_CHECK tg_status tg_hf_class_check(const tg_hf_class *class, const tg_config *config,
                                          tg_write_type type, tg_err *err);

/*
 * The config with the biases that the class always has together: a model that lacks some of them has zeros
 * there, which changes no result.
 */
tg_config tg_hf_class_padded(const tg_hf_class *class, const tg_config *config);

/* The integer for TG_HF_SCALE, or 0 if there is none. */
size_t tg_hf_scale(const tg_config *config);

#endif
