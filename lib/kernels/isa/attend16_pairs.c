/*
 * Attention in bf16 with the dot product of pairs (AVX-512 BF16): see attend16_body.h.  Sums over keys
 * are [query][D].
 */
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/tiles.h"

#if defined(__AVX512BF16__) && !defined(TG_TILES)

#include "lib/kernels/isa/attend16_words.h"

#define TERMS 2

static void begin_tiles(void)
{
}

static void end_tiles(void)
{
}

INLINE vf multiply_add(vf sum, const float *a, vf b)
{
    int32_t pair;

    memcpy(&pair, a, sizeof pair);
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(pair), (__m512bh)b);
}

/* `rows` rows from m on and `vectors` vectors from column n on, words k0 .. k1-1.  A row beyond M repeats
 * the last one and is not stored. */
INLINE void small_tile(const struct product *p, size_t m, size_t n, size_t k0, size_t k1, const size_t rows,
                       const size_t vectors)
{
    const float *a[8];
    vf sum[16];

    for (size_t r = 0; r < rows; r++)
        a[r] = p->a + tg_size_min(m + r, p->M - 1) * p->a_row;
#pragma GCC unroll 16
    for (size_t t = 0; t < rows * vectors; t++)
        sum[t] = (vf){0};
    for (size_t k = k0; k < k1; k++) {
        vf b[4];

#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            b[v] = load(p->b + k * p->ldb + n + v * VL);
#pragma GCC unroll 16
        for (size_t t = 0; t < rows * vectors; t++)
            sum[t] = multiply_add(sum[t], a[t / vectors] + k * p->a_col, b[t % vectors]);
    }
#pragma GCC unroll 16
    for (size_t t = 0; t < rows * vectors; t++) {
        const size_t row = m + t / vectors;
        float *c = p->c + row * p->ldc + n + t % vectors * VL;

        if (row >= p->M)
            continue;
        if (p->factors)
            sum[t] = add_product(sum[t], load(c), splat(p->factors[row]));
        else if (p->add)
            sum[t] += load(c);
        store(c, sum[t]);
    }
}

/* Rows m .. m + rows - 1: four if there are many columns, else eight, so that enough sums are under way. */
static size_t small_rows(const struct product *p, size_t m)
{
    size_t n = p->mask == MASK_COLUMNS ? m / VL * VL : 0;
    const size_t rows = n + 2 * VL < p->N ? 4 : 8;
    const size_t k0 = p->mask == MASK_TERMS_FROM ? m / 2 : 0;
    const size_t k1 = p->mask == MASK_TERMS_TO ? tg_size_min(p->K, tg_ceil_div(m + rows, 2)) : p->K;

    for (; n + 3 * VL < p->N; n += 4 * VL)
        small_tile(p, m, n, k0, k1, 4, 4);
    if (n + 2 * VL < p->N)
        small_tile(p, m, n, k0, k1, 4, 3);
    else if (n < p->N && rows == 4)
        n + VL < p->N ? small_tile(p, m, n, k0, k1, 4, 2) : small_tile(p, m, n, k0, k1, 4, 1);
    else if (n < p->N)
        n + VL < p->N ? small_tile(p, m, n, k0, k1, 8, 2) : small_tile(p, m, n, k0, k1, 8, 1);
    return rows;
}

static void small_product(const struct product *p)
{
    for (size_t m = 0; m < p->M;)
        m += small_rows(p, m);
}

/* ---- sums over keys */

/* to[rows/2][Dp]: across keys. */
static void pack_values(float *to, size_t Dp, const tg_bf16 *x, size_t ld, size_t rows, size_t D)
{
    pack_across(to, Dp, x, ld, rows, D, rows);
}

/* c[query] = c[query] factors[query] + sum over n keys of words[key][query] values[key]. */
static void add_keys(float *c, size_t Dp, const float *values, const float *words, size_t rows, size_t n,
                     size_t D, bool add, const float *factors, bool diagonal)
{
    const struct product p = {
        .c = c,
        .ldc = Dp,
        .a = words,
        .a_row = 1,
        .a_col = QB,
        .b = values,
        .ldb = Dp,
        .M = rows,
        .N = tg_round_up(D, VL),
        .K = tg_ceil_div(n, 2),
        .add = add,
        .factors = factors,
        .mask = diagonal ? MASK_TERMS_TO : MASK_NOTHING,
    };

    small_product(&p);
}

/* Rows of D of the sums, each times its factor, rounded. */
static void unpack_sums(tg_bf16 *x, size_t ld, const float *c, size_t Dp, size_t rows, size_t D,
                        const float *factors)
{
    for (size_t r = 0; r < rows; r++)
        unpack_row(x + r * ld, c + r * Dp, D, factors[r]);
}

#include "lib/kernels/isa/attend16_body.h"

#endif
