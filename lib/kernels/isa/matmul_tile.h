/* matmul_tile: what the products of all kinds of tiles share. */
#ifndef TG_KERNELS_MATMUL_TILE_H
#define TG_KERNELS_MATMUL_TILE_H

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/isa/vectors16.h"
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

/* ---- operands where packing reads them: `type`, float32 or bf16, is a constant wherever these are used */

INLINE size_t size_of(const tg_type type)
{
    return type == TG_TYPE_BF16 ? sizeof(tg_bf16) : sizeof(float);
}

/* Element i of x. */
INLINE const void *element(const void *x, size_t i, const tg_type type)
{
    return (const char *)x + i * size_of(type);
}

/* The operands from an element on. */
INLINE const void *a_from(const tg_matmul *op, size_t i, size_t k)
{
    return element(op->a, i * op->a_row + k * op->a_col, op->a_type);
}

INLINE const void *b_from(const tg_matmul *op, size_t k, size_t j)
{
    return element(op->b, k * op->b_row + j * op->b_col, op->b_type);
}

/* ---- tiles */

#define TILE_MAX 1024 /* elements of a tile */

/* The tile of a bf16 C with rows i .. i+m-1 and columns j .. j+n-1 is complete, in float32 at c: round it,
 * and make what else is made of it.  A whole tile is one run of memory, and one call of each function. */
INLINE void finish_halves(const tg_matmul *op, float *c, const size_t ldc, size_t i, size_t j, size_t m,
                          const size_t n)
{
    const size_t at = i * op->ldc + j, runs = n == ldc ? 1 : m, run = n == ldc ? m * ldc : n;
    float values[TILE_MAX];

    if (op->slope) {
        for (size_t r = 0; r < m; r++)
            widen_row(values + r * ldc, (const tg_bf16 *)op->pre + at + r * op->ldc, n);
        for (size_t r = 0; r < runs; r++)
            op->slope(c + r * ldc, values + r * ldc, run);
    }
    for (size_t r = 0; r < m; r++) {
        tg_bf16 *out = (tg_bf16 *)op->c + at + r * op->ldc;

        round_row(out, c + r * ldc, n);
        if (op->map) /* what is mapped is the rounded value, which is all that is kept */
            widen_row(values + r * ldc, out, n);
    }
    if (!op->map)
        return;
    for (size_t r = 0; r < runs; r++)
        op->map(values + r * ldc, values + r * ldc, run);
    for (size_t r = 0; r < m; r++)
        round_row((tg_bf16 *)op->mapped + at + r * op->ldc, values + r * ldc, n);
}

/* Rows i .. i+m-1, columns j .. j+n-1 of C are complete, in place. */
INLINE void finish_floats(const tg_matmul *op, float *c, size_t i, size_t j, size_t m, size_t n)
{
    for (size_t r = 0; op->slope && r < m; r++)
        op->slope(c + r * op->ldc, (const float *)op->pre + (i + r) * op->ldc + j, n);
    for (size_t r = 0; op->map && r < m; r++)
        op->map((float *)op->mapped + (i + r) * op->ldc + j, c + r * op->ldc, n);
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
