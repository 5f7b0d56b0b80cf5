/*
 * directions: the singular vectors of a product of low rank, and the tokens at the ends of a direction.
 */
#ifndef TG_CIRCUIT_DIRECTIONS_H
#define TG_CIRCUIT_DIRECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/model.h"

/*
 * The singular value decomposition of x^T y [C,C] for rows x, y [D,C], in place:
 *
 *     x^T y = sum over d of size[d] x[d]^T y[d]
 *
 * with orthonormal rows x and y (those of size 0 may be 0), and falling sizes.  Rows are rotated in pairs
 * until they are orthogonal, first those of x, then those of y.
 *
 * Source: one-sided Jacobi, Hestenes 1958.
 */
void tg_directions(double *x, double *y, double *size, size_t D, size_t C);

/* The tokens with the greatest products with a vector, and with its negative: [2,top] of each vector,
 * falling; of equal values the lower id first. */
typedef struct tg_top {
    size_t n, top; /* vectors; at most the number of tokens */
    int32_t *id;   /* [n,2,top] */
    double *value; /* [n,2,top] */
} tg_top;

/* vectors [n,C] times E^T, or times U, which changes the vectors; scratch [n, TG_VOCAB_ROWS]. */
void tg_top_embedding(tg_top *out, const double *vectors, const tg_model *model, double *scratch);
void tg_top_logits(tg_top *out, double *vectors, const tg_model *model, double *scratch);

#endif
