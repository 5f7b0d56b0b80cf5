/*
 * places: print where numbers are in memory, in headers and derivations: shapes, and the formulas
 * of offsets.
 */
#ifndef TG_CMD_ATTN_DUMP_PLACES_H
#define TG_CMD_ATTN_DUMP_PLACES_H

#include "lib/attn/attn.h"
#include "lib/attn/shape.h"
#include "lib/attn/trace.h"

/* Heads up to this wide are shown with all channels of their weighted sum. */
#define ATT_WIDTH_MAX 8

/* The shapes that formulas are about.  With one head the heads' dimension is left out. */
typedef struct places {
    tg_attn_shape whole;  /* of q, k, v and att: [B,T,C] */
    tg_attn_shape vector; /* the same by heads: [B,T,H,D]; with one head [B,T,C] */
    tg_attn_shape square; /* of scores and probs: [B,H,T,T]; with one head [B,T,T] */
} places;

/* The view's pointers are ignored. */
places places_of(const tg_qkv_view *view);

/* "1,2,3"; "[B,T,C] = [1,2,3]" */
void print_list(const size_t *numbers, size_t n);
void print_shape(const tg_attn_shape *shape);

/* The formula of an offset in letters, `between`, and the formula with the sizes as numbers:
 * "(b*T + i)*T + j = (b*3 + i)*3 + j".  With `at` the indices are numbers in the second as well;
 * every index of the shape must be one of its four. */
void print_formulas(const tg_attn_shape *shape, const char *between, const tg_attn_index *at);

/* The same of the offset of a vector of q or k at position 'i' or 'j':
 * "((b*T + i)*H + h)*D = ((b*3 + i)*2 + h)*2". */
void print_base(const places *p, char position, const tg_attn_index *at);

#endif
