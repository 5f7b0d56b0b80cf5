/* matmul_tile: what the products of all kinds of tiles share. */
#ifndef TG_KERNELS_MATMUL_TILE_H
#define TG_KERNELS_MATMUL_TILE_H

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/isa/bf16.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/matmul.h"

/* Multiply-adds below which a product runs on one thread: waking others costs more. */
#ifndef PARALLEL_FROM
#define PARALLEL_FROM 32768
#endif

INLINE size_t threads_for(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    if (op->M * op->N * op->K < PARALLEL_FROM)
        return 1;
    return tg_size_min(scratch->threads, tg_threads());
}

#define PIECE ((size_t)64) /* elements that are finished at a time */

/* Elements at .. at+n-1 of C, n <= PIECE, are complete, in c: what else is made of them. */
INLINE void finish_piece(const tg_matmul *op, float *c, size_t at, size_t n)
{
    float values[PIECE];

    if (op->slope && op->pre16) {
        widen_row(values, op->pre16 + at, n);
        op->slope(c, values, n);
    } else if (op->slope) {
        op->slope(c, op->pre + at, n);
    }
    if (op->c16)
        round_row(op->c16 + at, c, n);
    if (op->map && op->c16) { /* of the rounded value, which is all that is kept */
        widen_row(values, op->c16 + at, n);
        op->map(values, values, n);
        round_row(op->mapped16 + at, values, n);
    } else if (op->map) {
        op->map(op->mapped + at, c, n);
    }
}

/* Rows i .. i+m-1, columns j .. j+n-1 of C are complete, at c. */
INLINE void finish_block(const tg_matmul *op, float *c, size_t ldc, size_t i, size_t j, size_t m, size_t n)
{
    if (!op->slope && !op->c16 && !op->map)
        return;
    for (size_t r = 0; r < m; r++)
        for (size_t p = 0; p < n; p += PIECE)
            finish_piece(op, c + r * ldc + p, (i + r) * op->ldc + j + p, tg_size_min(PIECE, n - p));
}

/* What to prefetch while a tile is computed: the source of the next panel of B into the
 * second-level cache, and the next tile's panel of A into the first-level one. */
struct prefetch {
    const char *at; /* NR floats from here, `times` times, `step` bytes apart */
    size_t step;
    size_t times;
    const float *a; /* the panel of A */
};

/* Where a tile's sums start from and go to, what is added, and what to prefetch meanwhile. */
struct epilogue {
    float *c;
    size_t ldc;
    const float *bias;   /* at the tile's column, or NULL */
    const float *add;    /* at the tile, or NULL; C itself to accumulate */
    const float *before; /* [MR,NR], the sums of earlier passes, or NULL in the first pass */
    float *after;        /* [MR,NR], the sums for later passes, or NULL in the last pass */
    struct prefetch next;
};

#endif
