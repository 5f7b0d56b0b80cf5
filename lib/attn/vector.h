/*
 * vector: how the query or the key of one head, at one token, came to be, and its gradient back through that.
 *
 *     normed[d] = projected[d] * rstd * gain[d]                          where the model norms it
 *     q[m]      = from[m] * cos[m] - from[m+n] * sin[m]         where the layer rotates it: m < n pairs,
 *     q[m+n]    = from[m+n] * cos[m] + from[m] * sin[m]         from is normed or projected
 *     q[d]      = from[d]                                       d >= 2n
 *
 * All these are the model's own float32 numbers, or an example's, as doubles; nothing is computed again.  The
 * angle of pair m is the token's position times a frequency.
 */
#ifndef TG_ATTN_VECTOR_H
#define TG_ATTN_VECTOR_H

#include <stddef.h>

#include "lib/attn/layers.h"
#include "lib/base/arena.h"

/* Which vector. */
typedef struct tg_attn_vector_at {
    size_t t, head, heads; /* the token; the head, of so many: of queries or of keys */
} tg_attn_vector_at;

typedef struct tg_attn_vector {
    tg_attn_vector_at at;
    size_t D, width; /* channels; those that the norm takes the mean of: D, or all heads' */
    size_t pairs;    /* 0: it is not rotated */
    bool is_normed;
    double *projected, *gain, *normed; /* [D]; normed is projected where there is no norm, with gain 1 */
    double rstd;                       /* 1 where there is no norm */
    double *angle, *cosines, *sines;   /* [pairs] */
    double *made;                      /* [D] what attention reads */
    /* the gradient */
    double mean;                  /* of dnormed * gain * projected * rstd, over width channels */
    double *dnormed, *dprojected; /* [D] */
} tg_attn_vector;

/* The frequency of pair m of a layer that rotates: that of given arrays, or of the model. */
double tg_attn_frequency(const tg_attn_layers *layers, size_t layer, const tg_attn_steps *steps, size_t m);

void tg_attn_vector_place(tg_arena *arena, tg_attn_vector *vector, size_t D);

/* Fill it from a layer's steps and from what attention reads: the token's row of q or k.  The steps are not
 * empty. */
void tg_attn_vector_fill(tg_attn_vector *vector, const tg_attn_layers *layers, const tg_attn_layer *layer,
                         const tg_attn_steps *steps, const float *row, tg_attn_vector_at at);

/* From dmade [D], what is added to the gradient of `made`: what that adds to the gradients of normed and of
 * projected.  With a norm over all heads, the mean's part also goes to the other heads, which is left out. */
void tg_attn_vector_backward(tg_attn_vector *vector, const double *dmade);

#endif
