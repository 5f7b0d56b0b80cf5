/*
 * plain_layers: the attention of the plain model (lib/gpt/plain.h), one layer after another, in the form in
 * which lib/attn/layers.h has the fast pass's: to compare a dump with it.
 */
#ifndef TG_ATTN_PLAIN_LAYERS_H
#define TG_ATTN_PLAIN_LAYERS_H

#include "lib/attn/layers.h"
#include "lib/gpt/plain.h"

typedef struct tg_plain_layers {
    const tg_model *model;
    tg_attn_layout layout; /* the caller may change it from the default, bthd */
    tg_plain plain;
    size_t next;
    double *weight[TG_PARAM_KINDS];  /* a tensor of each kind, in double precision */
    size_t layer_of[TG_PARAM_KINDS]; /* 1 + whose it is */
    float *resid, *x, *qkv;          /* [T,C] twice, [T,3C] of the last layer, rounded */
    tg_arena arena;
} tg_plain_layers;

/* Run the model, of the family gpt2, on ids [T].  It must outlive the layers.  TG_EDATA: another family.
 * TG_ENOMEM.  After a failure there is nothing to close. */
TG_MUST_CHECK tg_status tg_plain_layers_open(tg_plain_layers *p, const tg_model *model, const int32_t *ids,
                                             size_t T, tg_err *err);
void tg_plain_layers_close(tg_plain_layers *p);

/* Advance to the layer of this number, which is not before the last one.  What attention reads is rounded to
 * float32, and valid until the next call. */
void tg_plain_layers_find(tg_plain_layers *p, size_t number, tg_attn_layer *layer);

#endif
