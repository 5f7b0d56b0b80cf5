/*
 * bind: a model's parameters in the form that operations take.
 *
 * An operation takes one struct with its weights, the destination of their gradients, and its
 * widths (lib/nn), not a list of pointers.  This file fills these structs from the config: a
 * parameter that the config leaves out is NULL; the activation and the number of heads are the
 * config's.  Binding is cheap and owns nothing.
 */
#ifndef TG_GPT_BIND_H
#define TG_GPT_BIND_H

#include "lib/base/api.h"
#include "lib/gpt/model.h"
#include "lib/gpt/packed.h"
#include "lib/nn/embedding.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"

TG_API_BEGIN

/* What operations are bound to.  All of it must outlive the binding. */
typedef struct tg_binding {
    const tg_model *model;
    float *grads;                     /* flat, in the order of the model's table; NULL: no gradients */
    bool overwrite;                   /* linear layers write their gradients, and add to no others */
    const tg_packed_model *packed;    /* the model's matrices, packed; NULL: use them unpacked */
    const tg_matmul_scratch *scratch; /* NULL where all products are in double precision */
} tg_binding;

/* One block. */
typedef struct tg_block {
    tg_layernorm ln_1;
    tg_linear qkv;      /* [C,3C] */
    size_t H;           /* heads */
    tg_linear att_proj; /* [C,C] */
    tg_layernorm ln_2;
    tg_linear fc; /* [C,4C] */
    tg_gelu_kind activation;
    tg_linear fc_proj; /* [4C,C] */
} tg_block;

tg_block tg_bind_block(const tg_binding *binding, size_t layer);

/* Before the blocks, and after them. */
tg_embedding tg_bind_embedding(const tg_binding *binding);
tg_layernorm tg_bind_ln_f(const tg_binding *binding);
tg_linear tg_bind_head(const tg_binding *binding); /* [C,V]: the transposed embedding, when tied */

TG_API_END

#endif
