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
#include "lib/gpt/acts_real.h"
#undef real

#define real double
#include "lib/gpt/names64.h"
#include "lib/gpt/acts_real.h"
#include "lib/gpt/names64.h"
#undef real

/* Which activations have memory of their own. */
typedef enum tg_acts_kind {
    TG_ACTS_IN_PLACE, /* one set for all blocks, each of which overwrites its input.  No gradients */
    TG_ACTS_KEPT      /* a set per block, kept from forward to backward, and the gradients */
} tg_acts_kind;

/*
 * Place the activations (see arena.h) of the blocks from `layer` on, for up to B*T rows; a->wide
 * gets at least `wide` elements.  The caller places attention's scratch and the cache.
 */
void tg_acts_place(tg_arena *arena, tg_acts *a, const tg_binding *bound, size_t B, size_t T, size_t layer,
                   size_t wide, tg_acts_kind kind);
void tg_acts64_place(tg_arena *arena, tg_acts64 *a, const tg_binding *bound, size_t B, size_t T, size_t layer,
                     size_t wide, tg_acts_kind kind);

TG_API_END

#endif
