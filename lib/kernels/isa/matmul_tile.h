/* matmul_tile: what a tile's store does, whichever way the tile is computed. */
#ifndef TG_KERNELS_MATMUL_TILE_H
#define TG_KERNELS_MATMUL_TILE_H

#include <omp.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/matmul.h"

/* Products below this many multiply-adds are not worth waking the threads for. */
#define PARALLEL_FROM 32768

INLINE int threads_for(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    if (op->M * op->N * op->K < PARALLEL_FROM)
        return 1;
    return (int)tg_size_min(scratch->threads, (size_t)omp_get_max_threads());
}

/* Memory to be asked for while a tile is computed: two lines at a time. */
struct wanted {
    const char *at;
    size_t step; /* bytes to the next two */
};

/* What the tile's store adds to the sums, and what the next panel will need. */
struct epilogue {
    float *c;
    size_t ldc;
    const float *bias; /* at the tile's column, or NULL */
    const float *add;  /* at the tile, or NULL; C itself to accumulate */
    struct wanted next;
};

#endif
