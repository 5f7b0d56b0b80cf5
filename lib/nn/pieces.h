/*
 * pieces: some elements of a row as floats, whatever their type, for operations whose loops are kernels on
 * floats.
 *
 * Elements of a matrix of floats are used where they lie; those of bf16 are in a buffer meanwhile.
 * A matrix in double precision has loops of its own.
 */
#ifndef TG_NN_PIECES_H
#define TG_NN_PIECES_H

#include <string.h>

#include "lib/base/matrix.h"
#include "lib/kernels/kernels.h"

#define TG_PIECE ((size_t)512) /* elements of a buffer */

/* The n elements from (row, col) on. */
static inline float *tg_piece_read(tg_matrix m, size_t row, size_t col, size_t n, float *buffer)
{
    const size_t at = row * m.ld + col;

    if (m.type == TG_TYPE_FLOAT)
        return tg_floats(m) + at;
    tg_kernels_get()->widen(buffer, tg_halves(m) + at, n);
    return buffer;
}

/* Where n results may be computed: their own place, or a buffer; then tg_piece_write(). */
static inline float *tg_piece_begin(tg_matrix m, size_t row, size_t col, float *buffer)
{
    return m.type == TG_TYPE_FLOAT ? tg_floats(m) + row * m.ld + col : buffer;
}

/* The n elements from (row, col) on become x, which may be their own place. */
static inline void tg_piece_write(tg_matrix m, size_t row, size_t col, size_t n, const float *x)
{
    const size_t at = row * m.ld + col;

    if (m.type == TG_TYPE_BF16)
        tg_kernels_get()->round16(tg_halves(m) + at, x, n);
    else if (x != tg_floats(m) + at)
        memcpy(tg_floats(m) + at, x, n * sizeof *x);
}

#endif
