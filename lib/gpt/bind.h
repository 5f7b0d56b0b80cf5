/*
 * bind: a model's parameters in the form that operations take.
 *
 * An operation takes one struct with its weights, the destination of their gradients, and its
 * widths (lib/nn), not a list of pointers.  This file fills these structs from the config: a
 * parameter that the config leaves out is NULL.  Binding is cheap and owns nothing.
 */
#ifndef TG_GPT_BIND_H
#define TG_GPT_BIND_H

#include "lib/gpt/model.h"
#include "lib/gpt/packed.h"
#include "lib/nn/embedding.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"
#include "lib/nn/rmsnorm.h"

/* What operations are bound to.  All of it must outlive the binding. */
typedef struct tg_binding {
    const tg_model *model;
    float *grads;                  /* flat, in the order of tg_model_trained(); NULL: no gradients */
    float *low_rank_work;          /* [N,R] of the model's adapter, if it has one and gradients are wanted */
    bool overwrite;                /* linear layers write their gradients, and add to no others */
    const tg_packed_model *packed; /* the model's matrices, packed; NULL: use them unpacked */
    const tg_matmul_scratch *scratch; /* NULL where all products are in double precision */
} tg_binding;

/* A parameter, and where its gradient goes; NULL: the model does not have it, or no gradient is wanted. */
const float *tg_bind_weight(const tg_binding *binding, tg_param_kind kind, size_t layer);
float *tg_bind_gradient(const tg_binding *binding, tg_param_kind kind, size_t layer);

/* A layer by its weight, whose bias is the next kind; layer 0 outside of the blocks. */
tg_linear tg_bind_linear(const tg_binding *binding, tg_param_kind w, size_t layer);
tg_layernorm tg_bind_layernorm(const tg_binding *binding, tg_param_kind w, size_t layer);

/* C is 0 if the model does not have this norm. */
tg_rmsnorm tg_bind_rmsnorm(const tg_binding *binding, tg_param_kind w, size_t layer);

/* wte and wpe; of a lent model, the rows of ids [n] of wte. */
tg_embedding tg_bind_embedding(const tg_binding *binding, const int32_t *ids, size_t n);
tg_linear tg_bind_head(const tg_binding *binding); /* [C,V]: the transposed embedding, when tied */

#endif
