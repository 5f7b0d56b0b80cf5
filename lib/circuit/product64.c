#include "lib/circuit/product64.h"

#include <assert.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"

/* A block of c, and of the sums; all of it is on the stack, 64 KiB. */
#define ROWS ((size_t)32)
#define COLUMNS ((size_t)64)
#define DEPTH ((size_t)64)

/* A tile of c, whose sums stay in registers: 4 x 2 pairs of columns. */
#define TILE ((size_t)4)

typedef double pair __attribute__((vector_size(16)));

/* Panels of TILE rows or columns, zero-padded: element i of a panel at depth k is panel[k][i].  Elements of a
 * are there twice, as a pair. */
typedef struct blocks {
    pair a[ROWS / TILE][DEPTH][TILE];
    double b[COLUMNS / TILE][DEPTH][TILE] __attribute__((aligned(16)));
} blocks;

static double element(const void *data, tg_type type, size_t i)
{
    return type == TG_TYPE_FLOAT ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void pack_a(blocks *packed, const tg_product64 *p, size_t m0, size_t k0, size_t rows, size_t depth)
{
    for (size_t m = 0; m < tg_round_up(rows, TILE); m++)
        for (size_t k = 0; k < depth; k++) {
            const double x =
                m < rows ? element(p->a, p->a_type, (m0 + m) * p->a_row + (k0 + k) * p->a_col) : 0;

            packed->a[m / TILE][k][m % TILE] = (pair){x, x};
        }
}

static void pack_b(blocks *packed, const tg_product64 *p, size_t n0, size_t k0, size_t columns, size_t depth)
{
    for (size_t k = 0; k < depth; k++)
        for (size_t n = 0; n < tg_round_up(columns, TILE); n++)
            packed->b[n / TILE][k][n % TILE] =
                n < columns ? element(p->b, p->b_type, (k0 + k) * p->b_row + (n0 + n) * p->b_col) : 0;
}

/* a and b are panels. */
static void tile(double sums[TILE][TILE], const pair *a, const double *b, size_t depth)
{
    pair sum[TILE][2] = {{{0}}};

    for (size_t k = 0; k < depth; k++, a += TILE, b += TILE) {
        const pair b0 = {b[0], b[1]}, b1 = {b[2], b[3]};

        for (size_t m = 0; m < TILE; m++) {
            sum[m][0] += a[m] * b0;
            sum[m][1] += a[m] * b1;
        }
    }
    memcpy(sums, sum, sizeof sum);
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

        pack_a(&packed, p, m0, k0, rows, depth);
        pack_b(&packed, p, n0, k0, columns, depth);
        for (size_t n = 0; n < columns; n += TILE)
            for (size_t m = 0; m < rows; m += TILE) {
                tile(sums, packed.a[m / TILE][0], packed.b[n / TILE][0], depth);
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
