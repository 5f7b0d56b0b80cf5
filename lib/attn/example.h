/*
 * example: two small cases of attention whose every number can be checked by hand.
 */
#ifndef TG_ATTN_EXAMPLE_H
#define TG_ATTN_EXAMPLE_H

#include "lib/attn/attn.h"

#define TG_ATTN_EXAMPLES "baseline|mha"

typedef struct tg_attn_example {
    tg_attn_view view; /* of constants: nothing to free */
    const char *title;
    const char *filled; /* which rows are the interesting ones, and which only fill the shape */
} tg_attn_example;

/* Example number i of that list; i < 2.
 *
 * baseline  T = 3, C = 4, one head: query 2 gives scores 0.5, 0, 0.5
 * mha       T = 3, C = 4, H = 2, D = 2: head 1 of query 2 gives 1/sqrt(2), -1/sqrt(2), 0
 */
const tg_attn_example *tg_attn_example_get(size_t i);

#endif
