/*
 * dropout: zero each element with probability p, scale the others by 1/(1-p).
 *
 * Whether an element is dropped is a pure function of the random stream and the element's
 * number, so the mask is never stored: the backward pass recomputes it.
 * Source: Srivastava et al. 2014, JMLR 15.
 */
#ifndef TG_NN_DROPOUT_H
#define TG_NN_DROPOUT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/rng.h"

typedef struct tg_dropout {
    float p; /* in [0, 1); 0: nothing is dropped */
    tg_rng rng;
} tg_dropout;

/* factors[i] = 0 or 1/(1-p), for the elements first .. first+n-1. */
void tg_dropout_factors(float *factors, const tg_dropout *drop, uint64_t first, size_t n);

/* x[i] *= factor of element i: forward on values, backward on gradients. */
void tg_dropout_apply(float *x, const tg_dropout *drop, size_t n);

#endif
