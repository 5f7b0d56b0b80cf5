/*
 * Products with packed weights: see lib/kernels/packed_matrix.h.
 *
 * A panel holds 2 VL columns of B, k outermost.  In float32, each k has two vectors.  In
 * bf16 it has one, whose word i has column i in the lower half and column VL + i in the
 * upper half: a shift and a mask make two vectors of float32.  Panels are contiguous, so a
 * thread reads one long run of memory; all rows of A use a panel while it is in the
 * second-level cache.
 */
#include "lib/kernels/packed_matrix.h"

#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/matmul_tile.h"

#define NR (2 * VL)
#define ROWS 8       /* of A for each load of B */
#define LINE 16      /* words of a cache line */
#define LOOKAHEAD 64 /* lines, of the prefetch for a single group of rows */
#define STRIDE 8     /* of k between prefetches */

/* Multiply-adds that are worth sharing: some ten microseconds when sampling. */
#define PART (4 * (size_t)PARALLEL_FROM)

INLINE uint32_t bf16(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

/* Words of a panel for one k. */
INLINE size_t words(tg_precision precision)
{
    return precision == TG_PRECISION_BF16 ? VL : NR;
}

/* VL words from 2 VL columns of one k. */
INLINE void pack_pairs(float *words_of_k, const float *x)
{
    vu pair = {0};

    for (size_t i = 0; i < VL; i++)
        pair[i] = bf16(x[i]) | bf16(x[VL + i]) << 16;
    store(words_of_k, (vf)pair);
}

struct packing {
    const tg_packed_matrix *w;
    const float *b;
    size_t b_row, b_col;
};

static void pack_columns(void *context, size_t begin, size_t end)
{
    const struct packing *p = context;
    const tg_packed_matrix *w = p->w;
    const size_t width = words(w->precision);
    float *panels = w->panels;

    for (size_t j = begin; j < end; j += NR) {
        float *panel = panels + j / NR * w->K * width;
        const size_t n = tg_size_min(NR, end - j);
        float x[NR] = {0};

        for (size_t k = 0; k < w->K; k++, panel += width) {
            for (size_t i = 0; i < n; i++)
                x[i] = p->b[k * p->b_row + (j + i) * p->b_col];
            if (width == NR)
                memcpy(panel, x, sizeof x);
            else
                pack_pairs(panel, x);
        }
    }
}

void ISA_NAME(packed_matrix_pack)(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col)
{
    tg_threads_run(w->N, tg_threads_grain(w->K, NR), pack_columns, &(struct packing){w, b, b_row, b_col});
}

/* Store a panel's sums of one row, with all that is added, to C. */
INLINE void put_row(const tg_matmul *op, size_t m, size_t j, vf low, vf high)
{
    const size_t n = tg_size_min(NR, op->N - j);
    const float *add = op->accumulate ? op->c : op->add;
    float *c = op->c + m * op->ldc + j;
    float sum[NR] = {0};

    if (op->bias) {
        memcpy(sum, op->bias + j, n * sizeof *sum);
        low += load(sum);
        high += load(sum + VL);
    }
    if (add) {
        memcpy(sum, add + m * op->ldc + j, n * sizeof *sum);
        low += load(sum);
        high += load(sum + VL);
    }
    store(sum, low);
    store(sum + VL, high);
    memcpy(c, sum, n * sizeof *sum);
    finish_block(op, c, op->ldc, m, j, 1, n);
}

/* What to prefetch while rows use a panel: `lines` cache lines every STRIDE of k. */
struct panel_prefetch {
    const float *at;
    size_t lines;
};

INLINE void unpack(vf *low, vf *high, const float *words_of_k, const tg_precision precision)
{
    vu word;

    if (precision == TG_PRECISION_FLOAT32) {
        *low = load(words_of_k);
        *high = load(words_of_k + VL);
        return;
    }
    word = (vu)load(words_of_k);
    *low = (vf)(word << 16);
    *high = (vf)(word & 0xFFFF0000u);
}

/* Rows m .. m+rows-1 times the panel at column j. */
INLINE void rows_of_panel(const tg_matmul *op, const float *panel, size_t m, size_t j, const size_t rows,
                          struct panel_prefetch next, const tg_precision precision)
{
    const float *a = op->a + m * op->a_row;
    vf low[ROWS], high[ROWS];

    for (size_t r = 0; r < rows; r++)
        low[r] = high[r] = (vf){0};
    for (size_t k = 0; k < op->K; k++, panel += words(precision)) {
        vf b_low, b_high;

        unpack(&b_low, &b_high, panel, precision);
        if (k % STRIDE == 0)
            for (size_t l = 0; l < next.lines; l++, next.at += LINE)
                __builtin_prefetch(next.at, 0, 2);
        for (size_t r = 0; r < rows; r++) {
            low[r] += splat(a[r * op->a_row + k]) * b_low;
            high[r] += splat(a[r * op->a_row + k]) * b_high;
        }
    }
    for (size_t r = 0; r < rows; r++)
        put_row(op, m + r, j, low[r], high[r]);
}

/* All rows times a panel.  Each of several groups of rows prefetches its part of the next
 * panel; otherwise the first group would wait for memory, which is idle during the others. */
INLINE void panel_product(const tg_matmul *op, const float *panel, size_t j, const tg_precision precision)
{
    const size_t M = op->M, width = words(precision), lines = op->K * width / LINE;
    const size_t groups = M / ROWS + M % ROWS / (ROWS / 2) + M % (ROWS / 2);
    struct panel_prefetch next = {panel + op->K * width, tg_ceil_div(STRIDE * width / LINE, groups)};
    size_t m = 0;

    if (groups == 1)
        next.at = panel + LOOKAHEAD * LINE;
    while (m < M) {
        const size_t left = M - m;

        if (left >= ROWS)
            rows_of_panel(op, panel, m, j, ROWS, next, precision);
        else if (left >= ROWS / 2)
            rows_of_panel(op, panel, m, j, ROWS / 2, next, precision);
        else
            rows_of_panel(op, panel, m, j, 1, next, precision);
        m += left >= ROWS ? ROWS : left >= ROWS / 2 ? ROWS / 2 : 1;
        next.at += tg_ceil_div(lines, groups) * LINE;
    }
}

struct product {
    const tg_matmul *op;
    const tg_packed_matrix *w;
};

static void multiply_columns(void *context, size_t begin, size_t end)
{
    const struct product *p = context;
    const tg_matmul *op = p->op;
    const float *panels = p->w->panels;

    for (size_t j = begin; j < end; j += NR) {
        if (p->w->precision == TG_PRECISION_BF16)
            panel_product(op, panels + j / NR * op->K * VL, j, TG_PRECISION_BF16);
        else
            panel_product(op, panels + j / NR * op->K * NR, j, TG_PRECISION_FLOAT32);
    }
}

void ISA_NAME(packed_matrix_run)(const tg_matmul *op, const tg_packed_matrix *w)
{
    const size_t panel = op->M * op->K * NR; /* multiply-adds */

    tg_threads_run(op->N, NR * tg_size_max(1, PART / panel), multiply_columns, &(struct product){op, w});
}
