/*
 * layers: the attention of each layer, one after the other: of a model that is run on
 * one text, or the only one of arrays as given.
 *
 *     tg_attn_layers_model(&layers, model, ids, T, &err)    or  tg_attn_layers_given(...)
 *     while (tg_attn_layers_next(&layers, &layer))
 *         look at layer
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
#include "lib/gpt/infer.h"

/* What one layer's attention reads.  The arrays are those of the walk: they hold
 * until the next layer.  What only a model has is NULL elsewhere. */
typedef struct tg_attn_layer {
    size_t number; /* from 0 */
    tg_attn_view view;
    const float *x;      /* [B,T,C] the input, behind ln_1; a model's */
    const float *qkv;    /* [B,T,3C] x w + bias, of which q, k and v are slices; a model's */
    const float *w_qkv;  /* [C,3C], a model's, and */
    const float *b_qkv;  /* [3C], which a model may lack */
    const float *w_proj; /* [C,C] the output projection, a model's, and */
    const float *b_proj; /* [C], which a model may lack */
    const float *residual; /* [B,T,C] what ln_1 reads, and attention's output is added to; a model's */
} tg_attn_layer;

typedef struct tg_attn_layers {
    size_t L, B, T, C, H;
    const tg_model *model; /* NULL: arrays as given */
    const int32_t *ids;    /* [T] of the model's text */
    tg_attn_view given;
    tg_attn_layout layout; /* of the layers' views; for the caller to set: [B,T,H,D] at first */
    size_t next;           /* the number of the next layer */
    tg_infer infer;
    tg_arena arena;
} tg_attn_layers;

/* A model on ids [T], 1 <= T <= n_ctx, each below vocab_size; both must outlive the walk.
 * TG_ENOMEM; then there is nothing to close. */
TG_MUST_CHECK tg_status tg_attn_layers_model(tg_attn_layers *layers, const tg_model *model,
                                             const int32_t *ids, size_t T, tg_err *err);

/* Arrays that the caller keeps. */
void tg_attn_layers_given(tg_attn_layers *layers, const tg_attn_view *view);

/* The next layer; false: that was the last. */
bool tg_attn_layers_next(tg_attn_layers *layers, tg_attn_layer *layer);

/* The same, running past all layers before the one of this number; TG_ATTN_ALL: none.  False, too,
 * when that layer has been seen. */
bool tg_attn_layers_find(tg_attn_layers *layers, size_t number, tg_attn_layer *layer);

void tg_attn_layers_close(tg_attn_layers *layers);

/*
 * Walk by all threads over the picked rows of the layers that are left (see tg_attn_walk_team).
 * TG_OK also when a turn ended the walk.  TG_EUSAGE: the pick is out of range.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_attn_layers_walk_team(tg_attn_layers *layers, const tg_attn_pick *pick,
                                                 const tg_attn_team *team, tg_err *err);

#endif
