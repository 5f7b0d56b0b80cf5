/* matmul_tile: the tile of C that is summed in registers, MR rows of two vectors. */
#ifndef TG_KERNELS_MATMUL_TILE_H
#define TG_KERNELS_MATMUL_TILE_H

#include "lib/kernels/isa/isa.h"

#if VL == 16
#define MR 12
#else
#define MR 6
#endif
#define NR (2 * VL)

/* Products below this many multiply-adds are not worth waking the threads for. */
#define PARALLEL_FROM 32768

#endif
