/*
 * layers: the one loop over a model's blocks, from any step to any other, with a tap after each.
 *
 * A block is four steps, each named by the activation that it computes:
 *
 *     TG_STEP_QKV   q, k, v       from x
 *     TG_STEP_ATT   att           each head's weighted sums, from q, k, v
 *     TG_STEP_X2    x2            x + att W + b: the first sublayer's end
 *     TG_STEP_X     the next x    x2 + mlp(x2): the second one's
 *
 * A place is the number of a step, counted from the first block's: tg_place(layer, step) is before it.
 */
#ifndef TG_GPT_LAYERS_H
#define TG_GPT_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/api.h"
#include "lib/gpt/acts.h"

TG_API_BEGIN

static inline size_t tg_place(size_t layer, tg_step step)
{
    return layer * TG_STEPS_OF_BLOCK + step;
}

/* The place after the last step. */
static inline size_t tg_layers_end(const tg_acts *a)
{
    return tg_place(a->L, TG_STEP_QKV);
}

/*
 * Called after each step, which was that of `layer`: reads or changes the activations.  Backward it comes
 * after the step's gradient.  False ends the run.
 */
typedef struct tg_tap {
    bool (*after)(void *context, tg_acts *a, size_t layer, tg_step step);
    void *context;
} tg_tap;

/* Run the steps from .. to - 1 forward, or backward from the last of them; tap may be NULL.  False: a tap has
 * ended the run. */
bool tg_layers_forward(const tg_steps *steps, tg_acts *a, size_t from, size_t to, const tg_tap *tap);
bool tg_layers_backward(const tg_steps *steps, tg_acts *a, size_t from, size_t to, const tg_tap *tap);

TG_API_END

#endif
