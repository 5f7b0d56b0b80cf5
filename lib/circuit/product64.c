#include "lib/circuit/product64.h"

#include <assert.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"

/* A block of c, and of the sums; its operands are on the stack, 48 KiB. */
#define ROWS ((size_t)32)
#define COLUMNS ((size_t)64)
#define DEPTH ((size_t)64)

/* A tile of c, whose sums stay in registers: 4 x 2 pairs of columns. */
#define TILE ((size_t)4)

typedef double pair __attribute__((vector_size(16)));

/* Panels of TILE rows or columns; in the last one the last row fills those that do not exist. */
typedef struct blocks {
    double a[ROWS * DEPTH], b[COLUMNS * DEPTH];
} blocks;

/* Rows or columns of an operand: element k of number i is data[first + i * row + k * col]. */
struct runs {
    const void *data;
    tg_type type;
    size_t first, row, col;
};

/* A panel of four runs, at at[0..3]: depth elements each. */
#define PACK(type)                                                                                           \
    do {                                                                                                     \
        const type *x0 = (const type *)r->data + at[0], *x1 = (const type *)r->data + at[1];                 \
        const type *x2 = (const type *)r->data + at[2], *x3 = (const type *)r->data + at[3];                 \
                                                                                                             \
        for (size_t k = 0, i = 0; k < depth; k++, i += r->col, to += TILE) {                                 \
            to[0] = (double)x0[i];                                                                           \
            to[1] = (double)x1[i];                                                                           \
            to[2] = (double)x2[i];                                                                           \
            to[3] = (double)x3[i];                                                                           \
        }                                                                                                    \
    } while (0)

static void pack_panel(double *restrict to, const struct runs *restrict r, size_t n, size_t depth)
{
    size_t at[TILE];

    for (size_t i = 0; i < TILE; i++)
        at[i] = r->first + tg_size_min(i, n - 1) * r->row;
    if (r->type == TG_TYPE_FLOAT)
        PACK(float);
    else
        PACK(double);
}

static void pack(double *panels, struct runs r, size_t n, size_t depth)
{
    for (size_t i = 0; i < n; i += TILE, r.first += TILE * r.row)
        pack_panel(panels + i * DEPTH, &r, tg_size_min(TILE, n - i), depth);
}

/* The sums of a tile: a and b are panels.  Without loops over rows, all eight stay in registers. */
static void tile(double sums[TILE][TILE], const double *a, const double *b, size_t depth)
{
    pair s00 = {0}, s01 = {0}, s10 = {0}, s11 = {0}, s20 = {0}, s21 = {0}, s30 = {0}, s31 = {0};

    for (size_t k = 0; k < depth; k++, a += TILE, b += TILE) {
        const pair b0 = {b[0], b[1]}, b1 = {b[2], b[3]};
        const pair a0 = {a[0], a[0]}, a1 = {a[1], a[1]}, a2 = {a[2], a[2]}, a3 = {a[3], a[3]};

        s00 += a0 * b0, s01 += a0 * b1;
        s10 += a1 * b0, s11 += a1 * b1;
        s20 += a2 * b0, s21 += a2 * b1;
        s30 += a3 * b0, s31 += a3 * b1;
    }
    memcpy(sums, (const pair[]){s00, s01, s10, s11, s20, s21, s30, s31}, TILE * TILE * sizeof **sums);
}

static void add_tile(const tg_product64 *p, size_t m0, size_t n0, size_t rows, size_t columns,
                     double sums[TILE][TILE])
{
    for (size_t m = 0; m < rows; m++)
        for (size_t n = 0; n < columns; n++)
            p->c[(m0 + m) * p->ldc + n0 + n] += sums[m][n];
}

static void block_at(const tg_product64 *p, size_t m0, size_t n0)
{
    const size_t rows = tg_size_min(ROWS, p->M - m0), columns = tg_size_min(COLUMNS, p->N - n0);
    blocks packed;
    double sums[TILE][TILE];

    for (size_t k0 = 0; k0 < p->K; k0 += DEPTH) {
        const size_t depth = tg_size_min(DEPTH, p->K - k0);

        pack(packed.a, (struct runs){p->a, p->a_type, m0 * p->a_row + k0 * p->a_col, p->a_row, p->a_col},
             rows, depth);
        pack(packed.b, (struct runs){p->b, p->b_type, n0 * p->b_col + k0 * p->b_row, p->b_col, p->b_row},
             columns, depth);
        for (size_t n = 0; n < columns; n += TILE)
            for (size_t m = 0; m < rows; m += TILE) {
                tile(sums, packed.a + m * DEPTH, packed.b + n * DEPTH, depth);
                add_tile(p, m0 + m, n0 + n, tg_size_min(TILE, rows - m), tg_size_min(TILE, columns - n),
                         sums);
            }
    }
}

static void run_blocks(void *context, size_t begin, size_t end)
{
    const tg_product64 *p = context;
    const size_t across = tg_ceil_div(p->N, COLUMNS);

    for (size_t i = begin; i < end; i++) {
        const size_t m = i / across * ROWS, n = i % across * COLUMNS;

        if (!p->upper || m < n + COLUMNS)
            block_at(p, m, n);
    }
}

static size_t count_blocks(const tg_product64 *p)
{
    assert(p->M > 0 && p->N > 0 && p->K > 0 && p->ldc >= p->N);
    return tg_ceil_div(p->M, ROWS) * tg_ceil_div(p->N, COLUMNS);
}

void tg_product64_run(const tg_product64 *p)
{
    tg_product64 copy = *p;

    tg_threads_run(count_blocks(p), tg_threads_grain(ROWS * COLUMNS * p->K, 1), run_blocks, &copy);
}

void tg_product64_run_alone(const tg_product64 *p)
{
    tg_product64 copy = *p;

    run_blocks(&copy, 0, count_blocks(p));
}
