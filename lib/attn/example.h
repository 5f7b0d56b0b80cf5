/*
 * example: small cases of attention whose every number can be checked by hand.
 */
#ifndef TG_ATTN_EXAMPLE_H
#define TG_ATTN_EXAMPLE_H

#include "lib/attn/attn.h"

#define TG_ATTN_EXAMPLES "baseline|mha|indexing|mask|shapes"

typedef struct tg_attn_example {
    tg_attn_view view; /* of constants: nothing to free; or q, k, v are NULL: see tg_attn_example_fill() */
    const char *title;
    const char *filled; /* which numbers are the interesting ones, and which only fill the shape */
} tg_attn_example;

/* Example number i of that list; i < 5.
 *
 * baseline  T = 3, C = 4, one head: query 2 gives scores 0.5, 0, 0.5
 * mha       T = 3, C = 4, H = 2, D = 2: head 1 of query 2 gives 1/sqrt(2), -1/sqrt(2), 0
 * indexing  T = 3, C = 2, one head: every number says its own offset
 * mask      T = 4, C = 25, one head: rows of scores 0.2; 0.5 0.2; 0.3 0.4 0.2; 0.1 0.3 0.4 0.2
 * shapes    B = 2, T = 4, C = 512, H = 8: too many numbers to write down, so a formula gives them
 */
const tg_attn_example *tg_attn_example_get(size_t i);

/* Floats that tg_attn_example_fill() needs; 0: the view is of constants. */
size_t tg_attn_example_floats(const tg_attn_example *example);

/*
 * Make q, k and v in `numbers`, one behind the other, and let the view show them:
 *
 *   q.data[n] = (37n mod 101 - 50)/64   k.data[n] = (53n mod 103 - 51)/64
 *   v.data[n] = (29n mod 107 - 53)/64
 */
void tg_attn_example_fill(tg_attn_view *view, float *numbers);

#endif
