/*
 * example: small cases of attention in which every number can be checked by hand.
 */
#ifndef TG_CMD_ATTN_DUMP_EXAMPLE_H
#define TG_CMD_ATTN_DUMP_EXAMPLE_H

#include "lib/attn/layers.h"

#define EXAMPLES "baseline|mha|indexing|mask|shapes|rope|gqa"

typedef struct worked_example {
    tg_qkv_view view; /* points to constants; or q, k and v are NULL, and example_fill() sets them */
    const char *title;
    const char *filled;             /* which numbers matter, and which only fill the shape */
    tg_attn_steps q_steps, k_steps; /* how q and k came to be; zeros: they are as given */
} worked_example;

/* Example i of EXAMPLES, i < 7:
 *
 * baseline  T = 3, C = 4, one head: query 2 gives scores 0.5, 0, 0.5
 * mha       T = 3, C = 4, H = 2, D = 2: head 1 of query 2 gives 1/sqrt(2), -1/sqrt(2), 0
 * indexing  T = 3, C = 2, one head: every number is its own offset, or an eighth of it
 * mask      T = 4, C = 25, one head: rows of scores 0.2; 0.5 0.2; 0.3 0.4 0.2; 0.1 0.3 0.4 0.2
 * shapes    B = 2, T = 4, C = 512, H = 8: the numbers follow a formula
 * rope      T = 3, C = 4, one head: one query and one key, rotated by half and quarter turns
 * gqa       T = 3, C = 8, H = 4, KV = 2: heads 0 and 1 read head 0 of the keys, heads 2 and 3 head 1
 */
const worked_example *example_get(size_t i);

/* The number of floats that example_fill() needs; 0: the view points to constants. */
size_t example_floats(const worked_example *example);

/*
 * Fill `numbers` with q, then k, then v, and point the view to them:
 *
 *   q.data[n] = (37n mod 101 - 50)/64   k.data[n] = (53n mod 103 - 51)/64
 *   v.data[n] = (29n mod 107 - 53)/64
 */
void example_fill(tg_qkv_view *view, float *numbers);

#endif
