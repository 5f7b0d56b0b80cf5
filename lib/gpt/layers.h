/*
 * layers: the one loop over a model's blocks, from any operation to any other, with a tap after each.
 *
 * An operation is named by the row that it computes (lib/gpt/acts.h).  A place is the number of an
 * operation, counted from the first block's: tg_place(a, layer, row) is before it.
 */
#ifndef TG_GPT_LAYERS_H
#define TG_GPT_LAYERS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/gpt/acts.h"
#include "lib/tg/pass.h"

size_t tg_place(const tg_acts *a, size_t layer, size_t row);

/* The place after the last operation. */
size_t tg_layers_end(const tg_acts *a);

/* Run the operations from .. to - 1 forward, or backward from the last of them; tap may be NULL.  False: a
 * tap has ended the run. */
bool tg_layers_forward(tg_acts *a, size_t from, size_t to, const tg_tap *tap);
bool tg_layers_backward(tg_acts *a, size_t from, size_t to, const tg_tap *tap);

#endif
