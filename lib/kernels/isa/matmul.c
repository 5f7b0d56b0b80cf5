/* The matrix product in float32: see matmul_body.h. */
#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/matmul_tile.h"
#include "lib/kernels/isa/transpose.h"

/* ---- packing */

/* panel[k*width + i] = x[i*step + k] for all i < width and VL k's, by way of blocks
 * in registers. */
INLINE void pack_block(float *restrict panel, const float *restrict x, size_t step, const size_t width)
{
    for (size_t i0 = 0; i0 < width; i0 += VL) {
        vf row[VL];

        for (size_t i = 0; i < VL; i++)
            row[i] = load(x + tg_size_min(i0 + i, width - 1) * step);
        transpose(row);
        for (size_t k = 0; k < VL; k++)
            memcpy(panel + k * width + i0, &row[k], tg_size_min(VL, width - i0) * sizeof(float));
    }
}

/*
 * Pack a panel of up to `width` vectors (rows of A, or columns of B) over k:
 * panel[k*width + i] = x[i*step + k*k_step], zeros beyond n.
 */
INLINE void pack(float *restrict panel, const float *restrict x, size_t step, size_t k_step, size_t n,
                 size_t kc, const size_t width)
{
    size_t k = 0;

    if (n < width)
        memset(panel, 0, kc * width * sizeof *panel);
    if (n == width && step == 1) {
        for (; k < kc; k++)
            memcpy(panel + k * width, x + k * k_step, width * sizeof *panel);
        return;
    }
    if (n == width && k_step == 1)
        for (; k + VL <= kc; k += VL)
            pack_block(panel + k * width, x + k, step, width);
    for (size_t i = 0; i < n; i++)
        for (size_t j = k; j < kc; j++)
            panel[j * width + i] = x[i * step + j * k_step];
}

INLINE vf multiply_add(vf sum, float a, vf b)
{
    return sum + splat(a) * b;
}

#include "lib/kernels/isa/matmul_vectors.h"
#define DEPTH 1
#define ROUND 1
#include "lib/kernels/isa/matmul_body.h"

/* ---- one row */

/* One row: y[n] = sum_k x[k] B[k,n] for the columns j0..j1, B read once. */
static void row_columns(const tg_matmul *op, size_t j0, size_t j1)
{
    float sum[COLUMNS];

    for (size_t j = j0; j < j1; j++)
        sum[j - j0] = 0;
    for (size_t k = 0; k < op->K; k++) {
        const float x = op->a[k * op->a_col];
        const float *b = op->b + k * op->b_row + j0;

        for (size_t j = 0; j < j1 - j0; j++)
            sum[j] += x * b[j];
    }
    for (size_t j = j0; j < j1; j++)
        op->c[j] = sum[j - j0];
}

/* The same where B's columns are contiguous (or nothing is): dot products. */
static void row_dots(const tg_matmul *op, size_t j0, size_t j1)
{
    for (size_t j = j0; j < j1; j++) {
        const float *b = op->b + j * op->b_col;
        vf sums = {0};
        float sum = 0;
        size_t k = 0;

        if (op->a_col == 1 && op->b_row == 1)
            for (; k + VL <= op->K; k += VL)
                sums += load(op->a + k) * load(b + k);
        for (; k < op->K; k++)
            sum += op->a[k * op->a_col] * b[k * op->b_row];
        op->c[j] = sum_lanes(sums) + sum;
    }
}

/* M = 1: limited by reading B, so nothing is packed. */
static void multiply_row(const tg_matmul *op)
{
    const size_t pieces = tg_ceil_div(op->N, COLUMNS);

    #pragma omp for schedule(static)
    for (size_t p = 0; p < pieces; p++) {
        size_t j0 = p * COLUMNS, j1 = tg_size_min(op->N, j0 + COLUMNS);
        float before[COLUMNS];
        const float *add = op->accumulate ? op->c : op->add;

        for (size_t j = j0; j < j1; j++)
            before[j - j0] = (add ? add[j] : 0) + (op->bias ? op->bias[j] : 0);
        if (op->b_col == 1)
            row_columns(op, j0, j1);
        else
            row_dots(op, j0, j1);
        for (size_t j = j0; j < j1; j++)
            op->c[j] += before[j - j0];
    }
}

void K(matmul)(const tg_matmul *op, void *work)
{
    #pragma omp parallel if (op->M * op->N * op->K >= PARALLEL_FROM)
    {
        if (op->M == 1)
            multiply_row(op);
        else
            multiply_blocks(op, work);
    }
}
