/* matmul_tile: what a tile's store does, whichever way the tile is computed. */
#ifndef TG_KERNELS_MATMUL_TILE_H
#define TG_KERNELS_MATMUL_TILE_H

#include <omp.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/matmul.h"

/* Products below this many multiply-adds are not worth waking the threads for. */
#ifndef PARALLEL_FROM
#define PARALLEL_FROM 32768
#endif

INLINE int threads_for(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    if (op->M * op->N * op->K < PARALLEL_FROM)
        return 1;
    return (int)tg_size_min(scratch->threads, (size_t)omp_get_max_threads());
}

/* The map of rows i .. i+m-1, columns j .. j+n-1 of C, which are complete. */
INLINE void map_block(const tg_matmul *op, size_t i, size_t j, size_t m, size_t n)
{
    if (!op->map)
        return;
    for (size_t r = i; r < i + m; r++)
        op->map(op->mapped + r * op->ldc + j, op->c + r * op->ldc + j, n);
}

/* Memory to be asked for while a tile is computed: what the next panel of B will be made of, for
 * the second-level cache, and the next tile's panel of A, for the first. */
struct wanted {
    const char *at; /* a panel's width in floats */
    size_t step;    /* bytes to the next */
    size_t times;
    const float *a;
};

/* What the tile's store adds to the sums, and what the next panel will need. */
struct epilogue {
    float *c;
    size_t ldc;
    const float *bias;   /* at the tile's column, or NULL */
    const float *add;    /* at the tile, or NULL; C itself to accumulate */
    const float *before; /* the tile's sums over the words before these, [MR,NR], or NULL */
    float *after;        /* where they go for the words that follow, or NULL: these are the last */
    struct wanted next;
};

#endif
