/* The matrix product in float32: see matmul_body.h. */
#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/matmul_tile.h"

/* A word is one value: its first and its last one. */
INLINE float word(const void *x, const void *same, const tg_type type)
{
    float value;

    (void)same;
    (void)type;
    memcpy(&value, x, sizeof value);
    return value;
}

INLINE vf words_along(const void *x, const tg_type type)
{
    (void)type;
    return load(x);
}

INLINE vf words_across(const void *x, const void *same, const size_t n, const tg_type type)
{
    vf words = {0};

    (void)same;
    (void)type;
    if (n == VL)
        return load(x);
    memcpy(&words, x, n * sizeof(float));
    return words;
}

INLINE vf multiply_add(vf sum, float a, vf b)
{
    return add_product(sum, splat(a), b);
}

#define K_PER_WORD 1
#define MAY_BE_HALVES false
#define WORDS_PER_CHAIN CHAIN_WORDS
#include "lib/kernels/isa/matmul_vectors.h"
#define WORDS_UNIT 1
#include "lib/kernels/isa/matmul_body.h"

/* ---- one row */

#define COLUMNS ((size_t)512) /* of B that a thread takes at a time, at most */
#define ROWS 8                /* of B that are read together */

/* c[n] = sum_k a[k] B[k,n] for the columns j0 .. j1-1.  B is read once, several rows
 * together: the processor prefetches along each. */
static void row_columns(const tg_matmul *op, size_t j0, size_t j1)
{
    const float *a = op->a;
    const size_t n = j1 - j0;
    float sum[COLUMNS] = {0}, *c = (float *)op->c + j0;
    size_t k = 0;

    for (; k + ROWS <= op->K; k += ROWS) {
        const float *b = (const float *)op->b + k * op->b_row + j0;
        float x[ROWS];
        size_t j;

        for (size_t r = 0; r < ROWS; r++)
            x[r] = a[(k + r) * op->a_col];
        for (j = 0; j + VL <= n; j += VL) {
            vf s = load(sum + j);

            for (size_t r = 0; r < ROWS; r++) {
                s += splat(x[r]) * load(b + r * op->b_row + j);
                __builtin_prefetch(b + (r + ROWS) * op->b_row + j, 0, 3);
            }
            store(sum + j, s);
        }
        for (; j < n; j++)
            for (size_t r = 0; r < ROWS; r++)
                sum[j] += x[r] * b[r * op->b_row + j];
    }
    for (; k < op->K; k++) {
        const float *b = (const float *)op->b + k * op->b_row + j0;

        for (size_t j = 0; j < n; j++)
            sum[j] += a[k * op->a_col] * b[j];
    }
    for (size_t j = 0; j < n; j++)
        c[j] = sum[j];
}

/* The same by dot products, for a B with contiguous columns (or strides both ways). */
static void row_dots(const tg_matmul *op, size_t j0, size_t j1)
{
    for (size_t j = j0; j < j1; j++) {
        const float *a = op->a, *b = (const float *)op->b + j * op->b_col;
        vf sums = {0};
        float sum = 0;
        size_t k = 0;

        if (op->a_col == 1 && op->b_row == 1)
            for (; k + VL <= op->K; k += VL)
                sums += load(a + k) * load(b + k);
        for (; k < op->K; k++)
            sum += a[k * op->a_col] * b[k * op->b_row];
        ((float *)op->c)[j] = sum_lanes(sums) + sum;
    }
}

/* Columns j0 .. j1-1, at most COLUMNS of them. */
static void multiply_columns(void *context, size_t j0, size_t j1)
{
    const tg_matmul *op = context;
    const float *add = op->accumulate ? op->c : op->add;
    float before[COLUMNS], *c = op->c;

    for (size_t j = j0; j < j1; j++)
        before[j - j0] = (add ? add[j] : 0) + (op->bias ? op->bias[j] : 0);
    if (op->b_col == 1)
        row_columns(op, j0, j1);
    else
        row_dots(op, j0, j1);
    for (size_t j = j0; j < j1; j++)
        c[j] += before[j - j0];
    finish_floats(op, c + j0, 0, j0, 1, j1 - j0);
}

/* M = 1: reading B is the limit, so nothing is packed. */
static void multiply_row(const tg_matmul *op, size_t threads)
{
    const size_t even = tg_round_up(tg_ceil_div(op->N, threads), VL);
    tg_matmul row = *op;

    tg_threads_run_on(threads, op->N, tg_size_min(COLUMNS, even), multiply_columns, &row);
}

void ISA_NAME(matmul)(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    if (op->M == 1)
        multiply_row(op, threads_for(op, scratch));
    else
        multiply_blocks(op, scratch);
}
