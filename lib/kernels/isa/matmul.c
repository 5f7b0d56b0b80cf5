/* The matrix product in float32, B being float32 or bf16: see matmul_body.h. */
#include <stdbool.h>

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/matmul_tile.h"

/* A word is one value: its first and its last one. */
INLINE float word(const void *x, const void *same, const tg_type type)
{
    float value;

    (void)same;
    if (type == TG_TYPE_BF16)
        return tg_float_from_bf16(*(const tg_bf16 *)x);
    memcpy(&value, x, sizeof value);
    return value;
}

INLINE vf words_along(const void *x, const tg_type type)
{
    return type == TG_TYPE_BF16 ? load_bf16(x) : load(x);
}

INLINE vf words_across(const void *x, const void *same, const size_t n, const tg_type type)
{
    float some[VL] = {0};

    (void)same;
    if (n < VL)
        x = memcpy(some, x, n * size_of(type));
    return words_along(x, type);
}

INLINE vf multiply_add(vf sum, float a, vf b)
{
    return add_product(sum, splat(a), b);
}

#define K_PER_WORD 1
#define A_MAY_BE_HALVES false
#define WORDS_PER_CHAIN CHAIN_WORDS
#include "lib/kernels/isa/matmul_vectors.h"
#define WORDS_UNIT 1
#include "lib/kernels/isa/matmul_body.h"

/* ---- one row */

#define COLUMNS ((size_t)512) /* of B that a thread takes at a time, at most */
#define ROWS 8                /* of B that are read together */

/* n values of B from an element on, along k or along a row: where they are, or widened into a buffer. */
INLINE const float *b_floats(const tg_matmul *op, size_t k, size_t j, size_t n, float *buffer)
{
    const void *from = b_from(op, k, j);

    if (op->b_type != TG_TYPE_BF16)
        return from;
    widen_row(buffer, from, n);
    return buffer;
}

/* c[n] = sum_k a[k] B[k,n] for the columns j0 .. j1-1.  B is read once, several rows
 * together: the processor prefetches along each. */
static void row_columns(const tg_matmul *op, size_t j0, size_t j1)
{
    const float *a = op->a;
    const size_t n = j1 - j0, ld = op->b_type == TG_TYPE_BF16 ? COLUMNS : op->b_row;
    const size_t size = size_of(op->b_type);
    float sum[COLUMNS] = {0}, wide[ROWS * COLUMNS], *c = (float *)op->c + j0;
    size_t k = 0;

    for (; k + ROWS <= op->K; k += ROWS) {
        const float *b = b_floats(op, k, j0, n, wide);
        const char *next = b_from(op, k + ROWS, j0); /* rows */
        float x[ROWS];
        size_t j;

        for (size_t r = 1; r < ROWS && b == wide; r++)
            (void)b_floats(op, k + r, j0, n, wide + r * ld);
        for (size_t r = 0; r < ROWS; r++)
            x[r] = a[(k + r) * op->a_col];
        for (j = 0; j + VL <= n; j += VL) {
            vf s = load(sum + j);

            for (size_t r = 0; r < ROWS; r++) {
                s += splat(x[r]) * load(b + r * ld + j);
                __builtin_prefetch(next + (r * op->b_row + j) * size, 0, 3);
            }
            store(sum + j, s);
        }
        for (; j < n; j++)
            for (size_t r = 0; r < ROWS; r++)
                sum[j] += x[r] * b[r * ld + j];
    }
    for (; k < op->K; k++) {
        const float *b = b_floats(op, k, j0, n, wide);

        for (size_t j = 0; j < n; j++)
            sum[j] += a[k * op->a_col] * b[j];
    }
    for (size_t j = 0; j < n; j++)
        c[j] = sum[j];
}

/* The same by dot products, for a B with contiguous columns (or, if it is float32, strides both ways). */
static void row_dots(const tg_matmul *op, size_t j0, size_t j1)
{
    const size_t part =
        op->b_type == TG_TYPE_BF16 ? COLUMNS : op->K; /* of k, whole vectors but for the last */
    float wide[COLUMNS];

    for (size_t j = j0; j < j1; j++) {
        vf sums = {0};
        float sum = 0;

        for (size_t k0 = 0; k0 < op->K; k0 += part) {
            const size_t n = tg_size_min(part, op->K - k0);
            const float *a = (const float *)op->a + k0 * op->a_col, *b = b_floats(op, k0, j, n, wide);
            size_t k = 0;

            if (op->a_col == 1 && op->b_row == 1)
                for (; k + VL <= n; k += VL)
                    sums += load(a + k) * load(b + k);
            for (; k < n; k++)
                sum += a[k * op->a_col] * b[k * op->b_row];
        }
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

size_t ISA_NAME(matmul_part)(size_t K)
{
    return part_of_k(K);
}

void ISA_NAME(matmul)(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    if (op->M == 1)
        multiply_row(op, threads_for(op, scratch));
    else
        multiply_blocks(op, scratch);
}
