/*
 * The matrix product: packed, register-blocked, threaded.
 *
 * C is cut into blocks of MC x NC over KC of k.  The threads together pack the
 * block's A into panels of MR rows and its B into panels of NR columns, both with k
 * outermost, so that the micro-kernel reads memory in order; then they share out
 * the MR x NR tiles, columns outermost, so that a B panel stays in the first-level
 * cache while A panels stream past it from the second.
 *
 * The scheme is Goto's: Goto & van de Geijn 2008, "Anatomy of high-performance
 * matrix multiplication"; Van Zee & van de Geijn 2015, "BLIS".
 */
#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/blocks.h"

/* Products below this many multiply-adds are not worth waking the threads for. */
#define PARALLEL_FROM 32768

/*
 * Pack a panel of up to `width` vectors (rows of A, or columns of B) over k:
 * panel[k*width + i] = x[i*step + k*k_step], zeros beyond n.
 */
INLINE void pack(float *restrict panel, const float *restrict x, size_t step, size_t k_step, size_t n,
                 size_t kc, const size_t width)
{
    if (n < width)
        memset(panel, 0, kc * width * sizeof *panel);
    if (step == 1 && n == width) {
        for (size_t k = 0; k < kc; k++)
            for (size_t i = 0; i < width; i++)
                panel[k * width + i] = x[k * k_step + i];
        return;
    }
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < kc; k++)
            panel[k * width + i] = x[i * step + k * k_step];
}

/* The tile's sums over kc, in registers. */
INLINE void multiply(vf sum[MR][2], const float *restrict a, const float *restrict b, size_t kc)
{
    for (size_t r = 0; r < MR; r++)
        sum[r][0] = sum[r][1] = (vf){0};
    for (size_t k = 0; k < kc; k++, a += MR, b += NR) {
        vf b0 = load(b), b1 = load(b + VL);

        for (size_t r = 0; r < MR; r++) {
            vf a_r = splat(a[r]);

            sum[r][0] += a_r * b0;
            sum[r][1] += a_r * b1;
        }
    }
}

/* What the tile's store adds to the sums. */
struct epilogue {
    float *c;
    size_t ldc;
    const float *bias; /* at the tile's column, or NULL */
    const float *add;  /* at the tile, or NULL; C itself to accumulate */
};

INLINE void store_full(vf sum[MR][2], const struct epilogue *e)
{
    for (size_t r = 0; r < MR; r++) {
        vf s0 = sum[r][0], s1 = sum[r][1];

        if (e->bias) {
            s0 += load(e->bias);
            s1 += load(e->bias + VL);
        }
        if (e->add) {
            s0 += load(e->add + r * e->ldc);
            s1 += load(e->add + r * e->ldc + VL);
        }
        store(e->c + r * e->ldc, s0);
        store(e->c + r * e->ldc + VL, s1);
    }
}

/* A tile at the edge: m rows and n columns of it count. */
static void store_edge(vf sum[MR][2], const struct epilogue *e, size_t m, size_t n)
{
    float row[NR];

    for (size_t r = 0; r < m; r++) {
        store(row, sum[r][0]);
        store(row + VL, sum[r][1]);
        for (size_t j = 0; j < n; j++) {
            float s = row[j];

            if (e->bias)
                s += e->bias[j];
            if (e->add)
                s += e->add[r * e->ldc + j];
            e->c[r * e->ldc + j] = s;
        }
    }
}

static void tile(const float *a, const float *b, size_t kc, const struct epilogue *e, size_t m, size_t n)
{
    vf sum[MR][2];

    multiply(sum, a, b, kc);
    if (m == MR && n == NR)
        store_full(sum, e);
    else
        store_edge(sum, e, m, n);
}

/* One block: rows i0.. of height mc, columns j0.. of width nc, k0.. of depth kc.
 * Called by all threads of the team. */
static void block(const tg_matmul *op, size_t i0, size_t mc, size_t j0, size_t nc, size_t k0, size_t kc,
                  bool pack_b, float *a_panels, float *b_panels)
{
    const size_t rows = tg_ceil_div(mc, MR), columns = tg_ceil_div(nc, NR);

    if (pack_b) {
        #pragma omp for schedule(static) nowait
        for (size_t j = 0; j < columns; j++)
            pack(b_panels + j * NR * kc, op->b + k0 * op->b_row + (j0 + j * NR) * op->b_col, op->b_col,
                 op->b_row, tg_size_min(NR, nc - j * NR), kc, NR);
    }
    #pragma omp for schedule(static)
    for (size_t i = 0; i < rows; i++)
        pack(a_panels + i * MR * kc, op->a + (i0 + i * MR) * op->a_row + k0 * op->a_col, op->a_row, op->a_col,
             tg_size_min(MR, mc - i * MR), kc, MR);

    #pragma omp for schedule(static) collapse(2)
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++) {
            size_t at = (i0 + i * MR) * op->ldc + j0 + j * NR;
            struct epilogue e = {
                .c = op->c + at,
                .ldc = op->ldc,
                .bias = op->bias && k0 == 0 ? op->bias + j0 + j * NR : NULL,
            };

            if (op->accumulate || k0 > 0)
                e.add = e.c;
            else if (op->add)
                e.add = op->add + at;
            tile(a_panels + i * MR * kc, b_panels + j * NR * kc, kc, &e, tg_size_min(MR, mc - i * MR),
                 tg_size_min(NR, nc - j * NR));
        }
}

static void multiply_blocks(const tg_matmul *op, float *work)
{
    const size_t kc_most = tg_size_min(op->K, KC);
    const size_t mc_most = A_FLOATS / kc_most / MR * MR;
    const size_t nc_most = B_FLOATS / kc_most / NR * NR;
    float *a_panels = work, *b_panels = work + A_FLOATS;

    for (size_t j0 = 0; j0 < op->N; j0 += nc_most)
        for (size_t k0 = 0; k0 < op->K; k0 += KC)
            for (size_t i0 = 0; i0 < op->M; i0 += mc_most)
                block(op, i0, tg_size_min(mc_most, op->M - i0), j0, tg_size_min(nc_most, op->N - j0), k0,
                      tg_size_min(KC, op->K - k0), i0 == 0, a_panels, b_panels);
}

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
