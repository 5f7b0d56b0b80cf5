/*
 * layers: the attention of a model that runs on a text, one layer after another; or of given arrays,
 * which count as one layer.
 *
 *     tg_attn_layers_model(&layers, model, ids, T, &err)    or  tg_attn_layers_given(...)
 *     tg_attn_layers_select(&layers, &filter, &err)         unless everything is wanted
 *     while (tg_attn_layers_next(&layers, &layer))
 *         use layer
 *     tg_attn_layers_close(&layers)
 *
 * Memory is O(T*C), whatever the number of layers and heads.
 */
#ifndef TG_ATTN_LAYERS_H
#define TG_ATTN_LAYERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/attn/attn.h"
#include "lib/attn/shape.h"
#include "lib/base/watch.h"
#include "lib/gpt/infer.h"
#include "lib/tg/attention.h"

/* How q, or k, came to be in a family, or an example, that norms or rotates it; in others all is NULL. */
typedef struct tg_attn_steps {
    const float *projected; /* [B,T,heads*D] x w + bias */
    const float *normed;    /* [B,T,heads*D]; NULL: the model has no norm of it */
    const float *rstd;      /* [B,T,heads*D / norm.C] of the norm: for each head, or for all at once */
    tg_rmsnorm norm;
    tg_matrix angles;        /* [T,d] of rotation (lib/nn/rotary.h); NULL: the layer does not rotate */
    const double *frequency; /* [d/2] of the angles of given arrays; NULL: those of the model's config */
} tg_attn_steps;

/* What one layer's attention reads.  The arrays are valid until the next layer.  For given arrays,
 * everything except the view, and the steps if they were given, is NULL. */
typedef struct tg_attn_layer {
    size_t number; /* from 0 */
    tg_qkv_view view;
    const float *x; /* [B,T,C] the input, after ln_1 */
    const float
        *qkv; /* [B,T,3C] x w + bias, of which q, k and v are slices; NULL: the family has no such row */
    const tg_model *model; /* NULL: given arrays */
    tg_matrix residual;    /* [B,T,C] the input of ln_1, to which attention's output is added */
    tg_qkv rows;           /* q, k and v, as the view has them */
    tg_attn_steps q_steps, k_steps;
} tg_attn_layer;

/* The output projection of a model's layer, of H*D channels to C, for products in double precision. */
tg_linear tg_attn_layer_proj(const tg_attn_layer *layer);

/* Whether a layer has a stage (lib/attn/shape.h). */
bool tg_attn_layer_has(const tg_attn_layer *layer, tg_attn_stage stage);

typedef struct tg_attn_layers {
    size_t L, B, T, C, H, KV, D;
    const tg_model *model; /* NULL: given arrays */
    const int32_t *ids;    /* [T] the model's text */
    tg_qkv_view given;
    tg_attn_steps given_q, given_k; /* how these came to be, if the caller sets them; B = 1 */
    tg_attn_layout layout; /* of the layers' views; the caller may change it from the default, bthd */
    tg_attn_filter filter; /* in range; set by tg_attn_layers_select() */
    size_t next;           /* the number of the next layer */
    float *projected[2], *normed[2]; /* copies of the layer's q and k, which the model overwrites; or NULL */
    const tg_watch *watch; /* told at each layer, cannot abandon; NULL: none; the caller may set it */
    tg_infer infer;
    tg_arena arena;
} tg_attn_layers;

/* Run a model on ids [T], 1 <= T <= n_ctx, each below vocab_size; both must outlive the walk.
 * TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_attn_layers_model(tg_attn_layers *layers, const tg_model *model,
                                             const int32_t *ids, size_t T, tg_err *err);

/* Use given arrays, which the caller keeps. */
void tg_attn_layers_given(tg_attn_layers *layers, const tg_qkv_view *view);

/* Advance to the next layer that the filter keeps; false: there is none, or the walk has failed
 * (tg_attn_layers_check()). */
bool tg_attn_layers_next(tg_attn_layers *layers, tg_attn_layer *layer);

/* Advance to the layer with this number, even if the filter excludes it; false: it is out of range, or
 * the walk is past it, or has failed. */
bool tg_attn_layers_find(tg_attn_layers *layers, size_t number, tg_attn_layer *layer);

/* Run a model's remaining layers and what follows them, whatever the filter excludes; then
 * tg_infer_logits(&layers->infer, ...) gives the logits of the text's rows.  False: the walk has failed. */
bool tg_attn_layers_end(tg_attn_layers *layers);

/* Whether the walk has failed so far: TG_EDATA, if a tensor of a lent model is not finite. */
TG_MUST_CHECK tg_status tg_attn_layers_check(const tg_attn_layers *layers, tg_err *err);

void tg_attn_layers_close(tg_attn_layers *layers);

/* A layer's q, k and v among a pass's activations, once they are computed. */
tg_qkv_view tg_attn_acts_view(const tg_acts *acts, size_t layer);

/* Whether every layer has a stage. */
bool tg_attn_layers_have(const tg_attn_layers *layers, tg_attn_stage stage);

/* The rule of a layer's scores. */
tg_attention_rule tg_attn_layers_rule(const tg_attn_layers *layers, size_t number);

/*
 * Walk with all threads over the rows that the filter keeps in the remaining layers (see
 * tg_attn_walk_parallel).  Returns TG_OK also if a turn ended the walk.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_attn_layers_walk_parallel(tg_attn_layers *layers, const tg_attn_visitor *visitor,
                                                     tg_err *err);

#endif
