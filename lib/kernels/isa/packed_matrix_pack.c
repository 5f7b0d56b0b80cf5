/* Packing weights: see lib/kernels/packed_matrix.h, and packed_panel.h for the layout. */
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/packed_panel.h"
#include "lib/kernels/isa/transpose.h"

#define DEPTH 16 /* of k that are read at a time: a cache line, when k is contiguous */

struct packing {
    const tg_packed_matrix *w;
    const float *b;
    size_t b_row, b_col;
};

/* Some rows of B, k .. k+DEPTH-1, in the columns of a panel; zeros beyond its last row and column. */
struct rows {
    _Alignas(64) float x[DEPTH][NR];
    size_t n; /* within B */
};

/* Rows k.., columns j..j+VL-1, of a B whose columns are contiguous. */
INLINE void read_square(const struct packing *p, float *x, size_t k, size_t j)
{
    vf row[VL];

    for (size_t i = 0; i < VL; i++)
        row[i] = load(p->b + (j + i) * p->b_col + k);
    transpose(row);
    for (size_t i = 0; i < VL; i++)
        store(x + i * NR, row[i]);
}

static void read_rows(const struct packing *p, struct rows *r, size_t k, size_t j)
{
    const size_t n = tg_size_min(NR, p->w->N - j);
    size_t i0 = 0;

    r->n = tg_size_min(DEPTH, p->w->K - k);
    if (n < NR || r->n < DEPTH)
        memset(r->x, 0, sizeof r->x);
    if (p->b_row == 1 && r->n == DEPTH)
        for (; i0 + VL <= n; i0 += VL)
            for (size_t d = 0; d < DEPTH; d += VL)
                read_square(p, &r->x[d][i0], k + d, j + i0);
    for (size_t d = 0; d < r->n; d++) {
        const float *b = p->b + (k + d) * p->b_row + j * p->b_col;

        if (p->b_col == 1)
            memcpy(r->x[d], b, n * sizeof *b);
        else
            for (size_t i = i0; i < n; i++)
                r->x[d][i] = b[i * p->b_col];
    }
}

/* The bits of bf16, in the lower half of each word. */
INLINE vu bf16_bits(vf x)
{
    const vu bits = (vu)x;

    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

/* One k.  scale: of each column, for int8; not 0. */
INLINE void pack_row(unsigned char *to, const float *x, const float *scale, tg_weight_type type)
{
    const vf magic = splat(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer in the lowest bits */

    if (type == TG_WEIGHT_FLOAT32) {
        memcpy(to, x, NR * sizeof *x);
    } else if (type == TG_WEIGHT_BF16) {
        for (size_t v = 0; v < VECTORS; v += 2) {
            const vu pair = bf16_bits(load(x + v * VL)) | bf16_bits(load(x + (v + 1) * VL)) << 16;

            memcpy(to + v / 2 * sizeof pair, &pair, sizeof pair);
        }
    } else {
        vu word = {0};

        for (size_t v = 0; v < VECTORS; v++)
            word |= ((vu)(load(x + v * VL) / load(scale + v * VL) + magic) & 0xFF) << 8 * v;
        memcpy(to, &word, sizeof word);
    }
}

/* What the columns of a panel are divided by: their scales, or 1 where these are 0. */
static void find_scales(const struct packing *p, float *divisor, size_t j)
{
    float *scales = p->w->scales + j;
    struct rows r;
    vf max[VECTORS] = {{0}};

    for (size_t k = 0; k < p->w->K; k += DEPTH) {
        read_rows(p, &r, k, j);
        for (size_t d = 0; d < r.n; d++)
            for (size_t v = 0; v < VECTORS; v++) {
                const vf x = load(&r.x[d][v * VL]);

                max[v] = larger(max[v], (vf)((vu)x & 0x7FFFFFFFu));
            }
    }
    for (size_t v = 0; v < VECTORS; v++)
        store(scales + v * VL, max[v] / splat(127));
    for (size_t i = 0; i < NR; i++) {
        scales[i] = scales[i] < 0x1p-126f ? 0 : scales[i];
        divisor[i] = scales[i] > 0 ? scales[i] : 1;
    }
}

static void pack_columns(void *context, size_t begin, size_t end)
{
    const struct packing *p = context;
    const tg_packed_matrix *w = p->w;
    float divisor[NR];
    struct rows r;

    for (size_t j = begin; j < end; j += NR) {
        unsigned char *to = panel_at(w, j);

        if (w->type == TG_WEIGHT_INT8)
            find_scales(p, divisor, j);
        for (size_t k = 0; k < w->K; k += DEPTH) {
            read_rows(p, &r, k, j);
            for (size_t d = 0; d < r.n; d++, to += row_bytes(w->type))
                pack_row(to, r.x[d], divisor, w->type);
        }
    }
}

void ISA_NAME(packed_matrix_pack)(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col)
{
    tg_threads_run(w->N, tg_threads_grain(w->K, NR), pack_columns, &(struct packing){w, b, b_row, b_col});
}
