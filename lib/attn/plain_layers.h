/*
 * plain_layers: the stages of attention (lib/attn/shape.h) of a plain model, one layer after another, in
 * double precision: to compare a dump with them.  GPT-2's are those of lib/gpt/plain.h, other families' those
 * of lib/gpt/plain_llama.h.
 *
 *     tg_plain_layers_open(&p, model, ids, T, &err)
 *     tg_plain_layers_find(&p, number)
 *     scores = tg_plain_layers_stage(&p, TG_ATTN_SCORES)
 *     tg_plain_layers_close(&p)
 */
#ifndef TG_ATTN_PLAIN_LAYERS_H
#define TG_ATTN_PLAIN_LAYERS_H

#include "lib/attn/shape.h"
#include "lib/gpt/model.h"
#include "lib/gpt/plain.h"
#include "lib/gpt/plain_llama.h"

typedef struct tg_plain_layers {
    const tg_model *model;
    size_t T;
    size_t next; /* the number of the next layer */
    tg_plain gpt2;
    tg_plain_llama llama;            /* the one or the other is open */
    double *resid;                   /* [T,C] GPT-2's x, to which attention adds */
    double *weight[TG_PARAM_KINDS];  /* a tensor of each kind, in double precision */
    size_t layer_of[TG_PARAM_KINDS]; /* 1 + whose it is */
    tg_arena arena;
} tg_plain_layers;

/* Run the model on ids [T].  It must outlive the layers, which stay where they are.  TG_EDATA: no plain model
 * is of its family.  TG_ENOMEM.  After a failure there is nothing to close. */
TG_MUST_CHECK tg_status tg_plain_layers_open(tg_plain_layers *p, const tg_model *model, const int32_t *ids,
                                             size_t T, tg_err *err);
void tg_plain_layers_close(tg_plain_layers *p);

/* Advance to the layer of this number, which is not before the last one. */
void tg_plain_layers_find(tg_plain_layers *p, size_t number);

/* A stage of that layer, in the layout bthd, until the next call of find.  NULL: the family has no such
 * stage, or the model no norms of q and k. */
const double *tg_plain_layers_stage(const tg_plain_layers *p, tg_attn_stage stage);

#endif
