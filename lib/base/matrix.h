/*
 * matrix: rows of numbers in memory, with the type of their elements.
 *
 * Row-major.  The number of rows is the caller's: a pass may use fewer than were placed.  Rows follow one
 * another, unless the matrix is some columns of a wider one, as q, k and v are of qkv.
 * Operations on matrices (lib/nn/ops.h) choose their loops by the types; one that works on one type takes a
 * plain pointer.
 */
#ifndef TG_BASE_MATRIX_H
#define TG_BASE_MATRIX_H

#include <assert.h>
#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/bf16.h"

typedef enum tg_type { TG_TYPE_FLOAT, TG_TYPE_DOUBLE, TG_TYPE_BF16 } tg_type;

typedef struct tg_matrix {
    void *data; /* NULL: none, or not placed yet */
    tg_type type;
    size_t cols;
    size_t ld; /* elements from one row to the next, at least cols */
} tg_matrix;

/* Bytes of an element. */
size_t tg_type_size(tg_type type);

/* Place a matrix in an arena (see arena.h). */
tg_matrix tg_matrix_place(tg_arena *arena, tg_type type, size_t rows, size_t cols);

/* Numbers at data, whose rows follow one another. */
static inline tg_matrix tg_matrix_of(void *data, tg_type type, size_t cols)
{
    const tg_matrix m = {data, type, cols, cols};

    return m;
}

/* The same matrix from this row on; some of its columns. */
tg_matrix tg_matrix_from(tg_matrix m, size_t row);
tg_matrix tg_matrix_columns(tg_matrix m, size_t first, size_t cols);

/* The elements of a matrix of that type. */
static inline float *tg_floats(tg_matrix m)
{
    assert(m.type == TG_TYPE_FLOAT);
    return (float *)m.data;
}

static inline double *tg_doubles(tg_matrix m)
{
    assert(m.type == TG_TYPE_DOUBLE);
    return (double *)m.data;
}

static inline tg_bf16 *tg_halves(tg_matrix m)
{
    assert(m.type == TG_TYPE_BF16);
    return (tg_bf16 *)m.data;
}

/* A float32 matrix that is read some rows at a time; they are valid until others are. */
typedef struct tg_row_source {
    const float *(*read)(void *source, size_t first, size_t n);
    void *source;
} tg_row_source;

#ifndef TG_STRIP_FLOATS
#define TG_STRIP_FLOATS ((size_t)1 << 21) /* read at a time, about */
#endif

#endif
