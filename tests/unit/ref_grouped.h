/*
 * ref_grouped: losses of the plain model (lib/gpt/plain_llama.h), and what its layers compute.  The tests
 * take central differences of it.
 */
#ifndef TG_TESTS_REF_GROUPED_H
#define TG_TESTS_REF_GROUPED_H

#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/model.h"
#include "lib/gpt/plain_llama.h"

/* What one layer computed of T tokens: q and k are rotated. */
typedef struct ref_grouped_layer {
    double *x, *q, *k, *v, *scores, *probs, *att; /* [T,C], [T,H,D], [T,KV,D] twice, [H,T,T] twice, [T,H,D] */
} ref_grouped_layer;

typedef struct ref_grouped {
    tg_config config;
    const tg_params *table;
    double *flat; /* the parameters, which the caller may change */
    size_t T;
    tg_plain_llama plain;
    ref_grouped_layer layer[4];
    double *logits; /* [T,V] */
} ref_grouped;

/* For texts of T tokens, with these parameters; r stays where it is.  Aborts without memory. */
void ref_grouped_open(ref_grouped *r, const tg_model *m, size_t T);
void ref_grouped_close(ref_grouped *r);

/* The sum of the losses of targets [T] given ids [T]; one of -1 counts as 0. */
double ref_grouped_loss(ref_grouped *r, const int32_t *ids, const int32_t *targets);

/* The same from a layer's x and weighted sums on. */
double ref_grouped_loss_from(ref_grouped *r, size_t layer, const double *x, const double *att,
                             const int32_t *targets);

#endif
