/*
 * places: print where numbers are in memory, for headers and derivations: shapes, and the formulas of
 * offsets.
 */
#ifndef TG_CMD_ATTN_DUMP_PLACES_H
#define TG_CMD_ATTN_DUMP_PLACES_H

#include <stdbool.h>

#include "lib/attn/attn.h"
#include "lib/attn/shape.h"
#include "lib/attn/trace.h"

/* The widest heads, in channels, whose weighted sum is printed in full. */
#define ATT_WIDTH_MAX 8

/* The shapes that the formulas use.  With one head of C channels, the heads' dimension is left out. */
typedef struct places {
    tg_attn_shape whole;  /* of q, k, v and att: [B,T,C]; only if heads divide C */
    tg_attn_shape vector; /* the same by heads, of q and att: [B,T,H,D]; with one head [B,T,C] */
    tg_attn_shape keys;   /* of k and v: the same, or with shared heads [B,T,KV,D] */
    tg_attn_shape square; /* of scores and probs: [B,H,T,T]; with one head [B,T,T] */
    size_t group;         /* heads of q that read one head of k and v: H/KV */
} places;

/* The view's pointers are ignored. */
places places_of(const tg_qkv_view *view);

/* Whether there is one head, as wide as C; whether heads of C/H channels have keys of their own. */
bool places_one_head(const tg_qkv_view *view);
bool places_divide(const tg_qkv_view *view);

/* "1,2,3"; "[B,T,C] = [1,2,3]" */
void print_list(const size_t *numbers, size_t n);
void print_shape(const tg_attn_shape *shape);

/* Print the formula of an offset in letters, then `between`, then the formula with the sizes as
 * numbers: "(b*T + i)*T + j = (b*3 + i)*3 + j".  If `at` is not NULL, the second also has numbers for
 * the indices; every index of the shape must then be b, h, i or j. */
void print_formulas(const tg_attn_shape *shape, const char *between, const tg_attn_index *at);

/* Likewise for the offset of the vector of q at position 'i', or of k at 'j':
 * "((b*T + i)*H + h)*D = ((b*3 + i)*2 + h)*2"; "((b*T + j)*KV + h/(H/KV))*D = ((b*3 + j)*2 + h/3)*4". */
void print_base(const places *p, char position, const tg_attn_index *at);

#endif
