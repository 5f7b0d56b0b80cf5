/*
 * steer: a run with vectors added to the residual stream, and with heads silenced: what a direction, or a
 * head, does to what follows.
 *
 *     x_l += scale * vector                at every token, x_l being the stream that reaches block l, or
 *                                          leaves the last one, l = L
 *
 * Source: Turner et al. 2023, arXiv:2308.10248.
 */
#ifndef TG_HEADS_STEER_H
#define TG_HEADS_STEER_H

#include <stddef.h>

#include "lib/gpt/layers.h"
#include "lib/heads/ablate.h"

typedef struct tg_steer_vector {
    size_t layer; /* 0 .. L */
    double scale;
    const float *x; /* [C] */
} tg_steer_vector;

/* Both in any order; the caller keeps them. */
typedef struct tg_steer {
    const tg_steer_vector *add;
    size_t n_add;
    const tg_ablate_head *silent;
    size_t n_silent;
} tg_steer;

/* What tg_infer calls (lib/gpt/infer.h).  The tap has the address of *steer. */
tg_tap tg_steer_tap(const tg_steer *steer);

#endif
