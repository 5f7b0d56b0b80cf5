/*
 * Attention in bf16 on the tile unit (AMX): see attend16_body.h.
 *
 * The left operand of a tile product is rows of words of its terms, and the scores and their gradient are
 * words of keys in columns of queries: so sums over keys are [D][query], of values that are packed by
 * columns.
 */
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/tiles.h"

#ifdef TG_TILES

#include "lib/kernels/isa/attend16_words.h"

#define TERMS 32 /* of a tile */

/* ---- products of words */

/* One or two tiles down by one or two to the right, at row m and column n, words k0 .. k1-1.  Registers: c is
 * 0 1 over 2 3; a is 4 over 5; b is 6 and 7 side by side. */
INLINE void tiles_at(const struct product *p, size_t m, size_t n, size_t k0, size_t k1, const bool down,
                     const bool right)
{
    const size_t a_stride = p->a_row * sizeof(float), b_stride = p->ldb * sizeof(float);
    const size_t c_stride = p->ldc * sizeof(float);
    float *c = p->c + m * p->ldc + n, *c_down = c + 16 * p->ldc;

    if (p->add) {
        tile_load(0, c, c_stride);
        if (right)
            tile_load(1, c + 16, c_stride);
        if (down)
            tile_load(2, c_down, c_stride);
        if (down && right)
            tile_load(3, c_down + 16, c_stride);
    } else {
        tile_zero(0);
        tile_zero(1);
        tile_zero(2);
        tile_zero(3);
    }
    for (size_t k = k0; k < k1; k += 16) {
        const float *a = p->a + m * p->a_row + k, *b = p->b + k * p->ldb + n;

        tile_load(4, a, a_stride);
        tile_load(6, b, b_stride);
        tile_multiply(0, 4, 6);
        if (right) {
            tile_load(7, b + 16, b_stride);
            tile_multiply(1, 4, 7);
        }
        if (down) {
            tile_load(5, a + 16 * p->a_row, a_stride);
            tile_multiply(2, 5, 6);
        }
        if (down && right)
            tile_multiply(3, 5, 7);
    }
    tile_store(0, c, c_stride);
    if (right)
        tile_store(1, c + 16, c_stride);
    if (down)
        tile_store(2, c_down, c_stride);
    if (down && right)
        tile_store(3, c_down + 16, c_stride);
}

/* Up to 32 rows and columns; terms that are masked wholly, and the tile of keys that no query sees, are
 * skipped. */
static void tiles_block(const struct product *p, size_t m, size_t n)
{
    const size_t k0 = p->mask == MASK_TERMS_FROM ? m / 2 : 0;
    const size_t k1 = tg_round_up(p->mask == MASK_TERMS_TO ? tg_size_min(p->K, n / 2 + 16) : p->K, 16);
    const bool down = m + 16 < p->M, right = n + 16 < p->N;

    if (p->mask == MASK_COLUMNS && m == n && right) {
        tiles_at(p, m, n, k0, k1, false, true);
        if (down)
            tiles_at(p, m + 16, n + 16, k0, k1, false, false);
    } else if (down) {
        right ? tiles_at(p, m, n, k0, k1, true, true) : tiles_at(p, m, n, k0, k1, true, false);
    } else {
        right ? tiles_at(p, m, n, k0, k1, false, true) : tiles_at(p, m, n, k0, k1, false, false);
    }
}

/* Whole tiles: what c has beyond M and N, up to a multiple of 16, is written as well. */
static void small_product(const struct product *p)
{
    for (size_t m = 0; m < p->M; m += 32)
        for (size_t n = p->mask == MASK_COLUMNS ? m : 0; n < p->N; n += 32)
            tiles_block(p, m, n);
}

/* ---- sums over keys */

/* to[block of keys][Dp][KB/2]: words of keys in rows of D, zero-padded. */
static void pack_values(float *restrict to, size_t Dp, const tg_bf16 *x, size_t ld, size_t rows, size_t D)
{
    for (size_t r = 0; r < rows; r += 2 * VL) {
        float *block = to + r / KB * (Dp * KB / 2) + r % KB / 2;

        for (size_t d = 0; d < Dp; d += VL) {
            vf words[VL];

            for (size_t i = 0; i < VL; i++) {
                const size_t at = r + 2 * i;
                const vf even = at < rows ? row_pairs(x + at * ld, D, d / 2) : (vf){0};
                const vf odd = at + 1 < rows ? row_pairs(x + (at + 1) * ld, D, d / 2) : (vf){0};

                words[i] = words_across(even, odd, 0);
            }
            transpose(words);
            for (size_t i = 0; i < VL; i++)
                store(block + (d + i) * (KB / 2), words[i]);
        }
    }
}

/* c[d][query] = c[d][query] factors[query] + sum over n keys of values[d][key] words[key][query]. */
static void add_keys(float *c, size_t Dp, const float *values, const float *words, size_t rows, size_t n,
                     size_t D, bool add, const float *factors, bool diagonal)
{
    const struct product p = {
        .c = c,
        .ldc = QB,
        .a = values,
        .a_row = KB / 2,
        .a_col = 1,
        .b = words,
        .ldb = QB,
        .M = D,
        .N = rows,
        .K = tg_ceil_div(n, 2),
        .add = add || factors,
        .mask = diagonal ? MASK_TERMS_TO : MASK_NOTHING,
    };

    (void)Dp;
    if (factors)
        for (size_t d = 0; d < D; d++)
            for (size_t i = 0; i < rows; i += VL)
                store(c + d * QB + i, load(c + d * QB + i) * load(factors + i));
    small_product(&p);
}

/* Rows of D of the sums, each times its factor, rounded. */
static void unpack_sums(tg_bf16 *x, size_t ld, const float *c, size_t Dp, size_t rows, size_t D,
                        const float *factors)
{
    (void)Dp;
    for (size_t r0 = 0; r0 < rows; r0 += VL)
        for (size_t d = 0; d < D; d += 2 * VL) {
            vf low[VL], high[VL];

            for (size_t i = 0; i < VL; i++) {
                low[i] = load(c + (d + i) * QB + r0) * load(factors + r0);
                high[i] = load(c + (d + VL + i) * QB + r0) * load(factors + r0);
            }
            transpose(low);
            transpose(high);
            for (size_t r = 0; r < tg_size_min(VL, rows - r0); r++)
                _mm512_mask_storeu_epi16(x + (r0 + r) * ld + d, first_lanes(D - d),
                                         (__m512i)round_pairs(low[r], high[r]));
        }
}

#include "lib/kernels/isa/attend16_body.h"

#endif
