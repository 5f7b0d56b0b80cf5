/*
 * derivation: everything about one score of a layer: its trace, the offsets of its vectors, the
 * weighted sum that it is part of, that sum's projection, and its gradient.
 *
 *     tg_derive(&d, &layers, &what, &err)
 *     use d
 *     tg_derivation_free(&d)
 */
#ifndef TG_ATTN_DERIVATION_H
#define TG_ATTN_DERIVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/attn/layers.h"
#include "lib/attn/trace.h"
#include "lib/attn/vector.h"
#include "lib/gpt/gradient64.h"
#include "lib/tg/attention.h"

typedef struct tg_derivation {
    tg_derive_what what;
    tg_attn_layer layer;
    tg_attn_trace t;
    size_t q_base, k_base, offset; /* of the score's vectors, and of the score */
    bool masked;                   /* j > i, or the window hides it */
    tg_attn_vector q, k;           /* of layers that norm or rotate them (layer.q_steps); else empty */
    tg_derived_output output;      /* w is NULL without a model */
    double *datt;                  /* [D] gradient of the weighted sum; backward only */
    tg_gradient64 g;               /* backward, with a model */
    tg_arena arena;
} tg_derivation;

/*
 * Run the layers, none of which may have been visited yet, up to what->layer, and derive the score.
 * TG_EUSAGE, with the range: an index, a channel or the target is out of range.  TG_EDATA, with the
 * place: a number is not finite.  TG_ENOMEM.  After a failure there is nothing to free.  The arrays of
 * d->layer are valid until the next layer is run.
 */
TG_MUST_CHECK tg_status tg_derive(tg_derivation *d, tg_attn_layers *layers, const tg_derive_what *what,
                                  tg_err *err);
void tg_derivation_free(tg_derivation *d);

#endif
