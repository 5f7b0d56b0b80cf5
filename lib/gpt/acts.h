/*
 * acts: the activations of a pass through the model, and the steps that compute them.
 *
 * One description serves training, evaluation and decoding, in float32 (tg_acts, tg_steps), and
 * derivations, in double precision (tg_acts64, tg_steps64): lib/gpt/gpt2.c, which is compiled
 * for both.  The structs are in lib/gpt/acts_real.h.
 */
#ifndef TG_GPT_ACTS_H
#define TG_GPT_ACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/arena.h"
#include "lib/gpt/bind.h"
#include "lib/nn/attention.h"
#include "lib/nn/ops64.h"

TG_API_BEGIN

#define real float
#define act void
#include "lib/gpt/acts_real.h"
#undef real
#undef act

#define real double
#define act double
#include "lib/gpt/names64.h"
#include "lib/gpt/acts_real.h"
#include "lib/gpt/names64.h"
#undef real
#undef act

/* Which activations have memory of their own. */
typedef enum tg_acts_kind {
    TG_ACTS_IN_PLACE, /* one set for all blocks, each of which overwrites its input.  No gradients */
    TG_ACTS_KEPT      /* a set per block, kept from forward to backward, and the gradients */
} tg_acts_kind;

/* What is placed. */
typedef struct tg_acts_size {
    size_t B, T;
    size_t layer;  /* the first block of those that are run */
    size_t logits; /* elements of the scratch of loss */
    tg_acts_kind kind;
    tg_precision precision; /* of what passes between products; in double precision, FLOAT32 */
} tg_acts_size;

/* Place the activations (see arena.h).  The caller places attention's scratch and the cache. */
void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, const tg_acts_size *size);
void tg_acts64_place(tg_arena *arena, tg_acts64 *a, const tg_binding *bound, const tg_acts_size *size);

TG_API_END

#endif
