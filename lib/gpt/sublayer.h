/*
 * sublayer: what a block adds to the residual stream, in each family: attention's result and the MLP's.
 *
 *     added = norm(in W + b)
 *
 * where in is att, or the MLP's units; most families have no such norm.  Both are linear in their input once
 * the scale of the norm is taken as given: so the stream is a sum of what the embedding, heads, units and
 * biases write, and the logits are a sum too.
 */
#ifndef TG_GPT_SUBLAYER_H
#define TG_GPT_SUBLAYER_H

#include <stddef.h>

#include "lib/gpt/acts.h"
#include "lib/nn/linear.h"
#include "lib/nn/rmsnorm.h"

typedef enum tg_sublayer_kind { TG_SUBLAYER_ATTENTION, TG_SUBLAYER_MLP, TG_SUBLAYERS } tg_sublayer_kind;

typedef struct tg_sublayer {
    size_t in;       /* its row (lib/gpt/acts.h) */
    tg_linear map;   /* to n_embd channels, for products in double precision */
    tg_rmsnorm norm; /* of its result; C is 0: none */
} tg_sublayer;

/* The row that the sublayer reads. */
size_t tg_sublayer_row(const tg_acts *a, tg_sublayer_kind kind);

/* The sublayer of a block.  The matrices of a lent model are valid until the next is asked for. */
tg_sublayer tg_sublayer_of(const tg_acts *a, tg_sublayer_kind kind, size_t layer);

/* The scale that the norm has for a row of the sublayer's inputs, 1 without one; out [C] is overwritten. */
double tg_sublayer_scale(const tg_sublayer *s, double *out, const double *in);

#endif
