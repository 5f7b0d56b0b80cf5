/* matmul_tile: what a tile's store does, whichever way the tile is computed. */
#ifndef TG_KERNELS_MATMUL_TILE_H
#define TG_KERNELS_MATMUL_TILE_H

#include "lib/kernels/isa/isa.h"

/* Products below this many multiply-adds are not worth waking the threads for. */
#define PARALLEL_FROM 32768

/* What the tile's store adds to the sums. */
struct epilogue {
    float *c;
    size_t ldc;
    const float *bias; /* at the tile's column, or NULL */
    const float *add;  /* at the tile, or NULL; C itself to accumulate */
};

#endif
