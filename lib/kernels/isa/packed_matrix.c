/*
 * Products with packed weights: see lib/kernels/packed_matrix.h, and packed_panel.h for the
 * layout.
 *
 * Panels are contiguous, so a thread reads one long run of memory.  Weights become float32 in
 * registers, where up to six rows of A share them.  More rows are several groups, which use a
 * part of a panel one after another while it is in the second-level cache.
 */
#include "lib/kernels/packed_matrix.h"

#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/matmul_tile.h"
#include "lib/kernels/isa/packed_panel.h"

#define ROWS 6                     /* of A, at most, for each load of B */
#define SUMS (VL == 16 ? 24 : 12)  /* vectors of sums that registers hold */
#define BLOCK ((size_t)4 * ROWS)   /* rows, at most, whose sums are kept while a panel is read */
#define PART_BYTES ((size_t)32768) /* of a panel, that groups of rows use one after another */
#define LINE 64                    /* bytes of a cache line */
#define LOOKAHEAD ((size_t)128)    /* lines, of the prefetch for a single group of rows */
#define STRIDE 8                   /* of k between prefetches */

/* Multiply-adds that are worth sharing: some ten microseconds when sampling.  They are shared in
 * smaller parts, because at the end threads wait for one. */
#define PART (4 * (size_t)PARALLEL_FROM)

/* What to prefetch while rows use a panel: `lines` cache lines every STRIDE of k. */
struct panel_prefetch {
    const unsigned char *at, *end;
    size_t lines;
};

/* Rows of A times K rows of a panel. */
struct tile {
    const float *a;
    size_t a_row, K;
    const unsigned char *b;
    float (*sums)[NR]; /* [rows], which it adds to */
    struct panel_prefetch *next;
};

/* Some vectors of the panel's columns, from v0 on. */
INLINE void run_vectors(const struct tile *t, const size_t v0, const size_t vectors, const size_t rows,
                        const tg_weight_type type)
{
    const float *a[ROWS];
    const unsigned char *row = t->b, *ahead = t->next->at;
    vf sum[ROWS * VECTORS];

    for (size_t r = 0; r < rows; r++)
        a[r] = t->a + r * t->a_row;
#pragma GCC unroll 24
    for (size_t i = 0; i < rows * vectors; i++)
        sum[i] = load(&t->sums[i / vectors][(v0 + i % vectors) * VL]);
    for (size_t k = 0; k < t->K; k++, row += row_bytes(type)) {
        vf b[VECTORS];

        if (k % STRIDE == 0 && ahead < t->next->end)
            for (size_t l = 0; l < t->next->lines; l++, ahead += LINE)
                __builtin_prefetch(ahead, 0, 2);
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v += 2)
            unpack_two(b + v, row, v0 + v, type);
#pragma GCC unroll 24
        for (size_t i = 0; i < rows * vectors; i++)
            sum[i] = add_product(sum[i], splat(a[i / vectors][k]), b[i % vectors]);
    }
#pragma GCC unroll 24
    for (size_t i = 0; i < rows * vectors; i++)
        store(&t->sums[i / vectors][(v0 + i % vectors) * VL], sum[i]);
    t->next->at = ahead;
}

INLINE void run_rows(const struct tile *t, const size_t rows, const tg_weight_type type)
{
    if (rows * VECTORS <= SUMS) {
        run_vectors(t, 0, VECTORS, rows, type);
        return;
    }
    run_vectors(t, 0, 2, rows, type);
    run_vectors(t, 2, 2, rows, type);
}

INLINE void run_tile(const struct tile *t, size_t rows, const tg_weight_type type)
{
    switch (rows) {
    case 1:
        run_rows(t, 1, type);
        break;
    case 2:
        run_rows(t, 2, type);
        break;
    case 3:
        run_rows(t, 3, type);
        break;
    case 4:
        run_rows(t, 4, type);
        break;
    case 5:
        run_rows(t, 5, type);
        break;
    default:
        run_rows(t, ROWS, type);
    }
}

static void tile_float32(const struct tile *t, size_t rows)
{
    run_tile(t, rows, TG_WEIGHT_FLOAT32);
}

static void tile_bf16(const struct tile *t, size_t rows)
{
    run_tile(t, rows, TG_WEIGHT_BF16);
}

static void tile_int8(const struct tile *t, size_t rows)
{
    run_tile(t, rows, TG_WEIGHT_INT8);
}

static void (*const tile_of[])(const struct tile *t, size_t rows) = {
    [TG_WEIGHT_FLOAT32] = tile_float32, [TG_WEIGHT_BF16] = tile_bf16, [TG_WEIGHT_INT8] = tile_int8};

struct product {
    const tg_matmul *op;
    const tg_packed_matrix *w;
};

/* n floats, in `space` with zeros after them if they are no whole panel; NULL stays. */
static const float *whole(const float *x, size_t n, float *space)
{
    if (!x || n == NR)
        return x;
    memset(space, 0, NR * sizeof *space);
    return memcpy(space, x, n * sizeof *x);
}

/* Store a panel's sums of one row, scaled and with all that is added, to C. */
static void put_row(const struct product *p, size_t m, size_t j, const float *sums)
{
    const tg_matmul *op = p->op;
    const size_t n = tg_size_min(NR, op->N - j), at = m * op->ldc + j;
    const float *add = op->accumulate ? op->c : op->add, *scales = p->w->scales;
    float space[3][NR], *c = (float *)op->c + at, *out = n == NR ? c : space[0];
    const float *bias = whole(op->bias ? op->bias + j : NULL, n, space[1]);
    const float *before = whole(add ? add + at : NULL, n, space[2]);

    for (size_t i = 0; i < NR; i += VL) {
        vf sum = load(sums + i);

        if (scales)
            sum *= load(scales + j + i);
        if (bias)
            sum += load(bias + i);
        if (before)
            sum += load(before + i);
        store(out + i, sum);
    }
    if (n < NR)
        memcpy(c, out, n * sizeof *out);
    finish_floats(op, c, m, j, 1, n);
}

static void few_rows(const struct product *p, const unsigned char *panel, size_t j)
{
    const tg_matmul *op = p->op;
    const tg_weight_type type = p->w->type;
    float sums[ROWS][NR] = {{0}};
    struct panel_prefetch next = {.at = panel + LOOKAHEAD * LINE, .lines = STRIDE * row_bytes(type) / LINE};
    const struct tile t = {op->a, op->a_row, op->K, panel, sums, &next};

    next.end = panel + op->K * row_bytes(type) + LOOKAHEAD * LINE;
    (type == TG_WEIGHT_INT8 ? tile_int8 : type == TG_WEIGHT_BF16 ? tile_bf16 : tile_float32)(&t, op->M);
    for (size_t m = 0; m < op->M; m++)
        put_row(p, m, j, sums[m]);
}

/* Rows m .. m+rows-1, in groups of nearly equal size. */
static void block_of_rows(const struct product *p, const unsigned char *panel, size_t m, size_t rows,
                          size_t j, struct panel_prefetch *next)
{
    const tg_matmul *op = p->op;
    const size_t groups = tg_ceil_div(rows, ROWS), each = row_bytes(p->w->type), part = PART_BYTES / each;
    float sums[BLOCK][NR] = {{0}};

    for (size_t k = 0; k < op->K; k += part)
        for (size_t g = 0; g < groups; g++) {
            const size_t r = rows * g / groups, end = rows * (g + 1) / groups;
            const struct tile t = {.a = (const float *)op->a + (m + r) * op->a_row + k,
                                   .a_row = op->a_row,
                                   .K = tg_size_min(part, op->K - k),
                                   .b = panel + k * each,
                                   .sums = sums + r,
                                   .next = next};

            tile_of[p->w->type](&t, end - r);
        }
    for (size_t r = 0; r < rows; r++)
        put_row(p, m + r, j, sums[r]);
}

/* Every group of rows prefetches its part of the next panel; otherwise the first group would
 * wait for memory, which is idle during the others. */
static void many_rows(const struct product *p, const unsigned char *panel, size_t j)
{
    const size_t M = p->op->M, each = row_bytes(p->w->type), bytes = p->op->K * each;
    struct panel_prefetch next = {.at = panel + bytes, .end = panel + 2 * bytes};

    next.lines = tg_ceil_div(STRIDE * each / LINE, tg_ceil_div(M, ROWS));
    for (size_t m = 0; m < M; m += BLOCK)
        block_of_rows(p, panel, m, tg_size_min(BLOCK, M - m), j, &next);
}

static void multiply_columns(void *context, size_t begin, size_t end)
{
    const struct product *p = context;

    for (size_t j = begin; j < end; j += NR)
        (p->op->M <= ROWS ? few_rows : many_rows)(p, panel_at(p->w, j), j);
}

void ISA_NAME(packed_matrix_run)(const tg_matmul *op, const tg_packed_matrix *w)
{
    const size_t panel = op->M * op->K * NR; /* multiply-adds */
    const bool large = op->M * op->K * op->N > PART;

    tg_threads_run(op->N, large ? NR * tg_size_max(1, PARALLEL_FROM / panel) : op->N, multiply_columns,
                   &(struct product){op, w});
}
