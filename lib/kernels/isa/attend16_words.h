/*
 * attend16_words: packing and softmax of attention in bf16, for attend16_body.h.
 *
 * An operand of a product is an array of words, pairs of the bf16 that the product sums over: a row of
 * k is D/2 words; `across` two rows, as v is for the sum over keys, a word has an element of each.
 * Words are kept in arrays of float, which have their size.
 */
#ifndef TG_KERNELS_ATTEND16_WORDS_H
#define TG_KERNELS_ATTEND16_WORDS_H

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>

#include "lib/base/bf16.h"
#include "lib/base/size.h"
#include "lib/kernels/attend.h"
#include "lib/kernels/isa/exp2.h"
#include "lib/kernels/isa/isa.h"
#include "lib/kernels/isa/transpose.h"

#define QB TG_ATTEND_BLOCK
#define KB TG_ATTEND_BLOCK
#define LN_2 0.693147180559945309f

/* ---- products of words */

/* What the mask leaves of a product in a block on the diagonal, where query i sees the keys j <= i. */
enum mask {
    MASK_NOTHING,
    MASK_COLUMNS,    /* c is [key][query]: what is masked wholly is skipped */
    MASK_TERMS_FROM, /* c's rows are keys: the sum begins with the first query that sees one of a tile */
    MASK_TERMS_TO    /* the sum is over keys, and ends with the last that a query of a tile sees */
};

/* c = a b, or c + a b, or c times its queries' factors + a b. */
struct product {
    float *c;
    size_t ldc;
    const float *a; /* words, any strides */
    size_t a_row, a_col;
    const float *b; /* words */
    size_t ldb;
    size_t M, N, K; /* N is a multiple of VL; K counts words */
    bool add;
    const float *factors; /* or NULL */
    enum mask mask;
};

/* ---- packing */

/* The mask of the first n lanes, up to 32. */
INLINE uint32_t first_lanes(size_t n)
{
    return n < 32 ? (UINT32_C(1) << n) - 1 : UINT32_MAX;
}

/* 16 words of up to 32 elements; those from n on are 0. */
INLINE vf load_pairs(const tg_bf16 *x, size_t n)
{
    return (vf)_mm512_maskz_loadu_epi16(first_lanes(n), x);
}

/* Elements 0 .. D-1 as words from `word` on: none if the row has no more. */
INLINE vf row_pairs(const tg_bf16 *x, size_t D, size_t word)
{
    return 2 * word < D ? load_pairs(x + 2 * word, D - 2 * word) : (vf){0};
}

/* The words of elements 0 .. 15, or 16 .. 31, of two rows. */
INLINE vf words_across(vf even, vf odd, const int upper)
{
    const __m512i lanes =
        _mm512_setr_epi32(0 | 32 << 16, 1 | 33 << 16, 2 | 34 << 16, 3 | 35 << 16, 4 | 36 << 16, 5 | 37 << 16,
                          6 | 38 << 16, 7 | 39 << 16, 8 | 40 << 16, 9 | 41 << 16, 10 | 42 << 16,
                          11 | 43 << 16, 12 | 44 << 16, 13 | 45 << 16, 14 | 46 << 16, 15 | 47 << 16);

    return (vf)_mm512_permutex2var_epi16(
        (__m512i)even, _mm512_add_epi16(lanes, _mm512_set1_epi16(upper ? 16 : 0)), (__m512i)odd);
}

/* to[row][word]: rows as they are, zero-padded to W words. */
static void pack_rows(float *restrict to, size_t W, const tg_bf16 *x, size_t ld, size_t rows, size_t D)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t w = 0; w < W; w += VL)
            store(to + r * W + w, row_pairs(x + r * ld, D, w));
}

/* to[word][QB]: up to QB rows, transposed, zero-padded to W words and to whole vectors. */
static void pack_transposed(float *restrict to, size_t W, const tg_bf16 *x, size_t ld, size_t rows, size_t D)
{
    for (size_t r0 = 0; r0 < rows; r0 += VL)
        for (size_t w = 0; w < W; w += VL) {
            vf row[VL];

            for (size_t r = 0; r < VL; r++)
                row[r] = r0 + r < rows ? row_pairs(x + (r0 + r) * ld, D, w) : (vf){0};
            transpose(row);
            for (size_t i = 0; i < VL; i++)
                store(to + (w + i) * QB + r0, row[i]);
        }
}

/* to[rows/2][Dp]: words across two rows, zero-padded in D, and to `padded` rows. */
static void pack_across(float *restrict to, size_t Dp, const tg_bf16 *x, size_t ld, size_t rows, size_t D,
                        size_t padded)
{
    for (size_t r = 0; r < padded; r += 2, to += Dp)
        for (size_t d = 0; d < Dp; d += 2 * VL) {
            const vf even = r < rows ? row_pairs(x + r * ld, D, d / 2) : (vf){0};
            const vf odd = r + 1 < rows ? row_pairs(x + (r + 1) * ld, D, d / 2) : (vf){0};

            store(to + d, words_across(even, odd, 0));
            store(to + d + VL, words_across(even, odd, 1));
        }
}

/* 32 values, rounded: words of neighbours. */
INLINE vf round_pairs(vf low, vf high)
{
    return (vf)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
}

/* The same, words of one of the first and one of the second. */
INLINE vf round_across(vf even, vf odd)
{
    const __m512i lanes =
        _mm512_setr_epi32(0 | 16 << 16, 1 | 17 << 16, 2 | 18 << 16, 3 | 19 << 16, 4 | 20 << 16, 5 | 21 << 16,
                          6 | 22 << 16, 7 | 23 << 16, 8 | 24 << 16, 9 | 25 << 16, 10 | 26 << 16,
                          11 | 27 << 16, 12 | 28 << 16, 13 | 29 << 16, 14 | 30 << 16, 15 | 31 << 16);

    return (vf)_mm512_permutexvar_epi16(lanes, (__m512i)round_pairs(even, odd));
}

/* Rows of D, times a factor, rounded. */
INLINE void unpack_row(tg_bf16 *x, const float *from, size_t D, float factor)
{
    for (size_t d = 0; d < D; d += 2 * VL) {
        _mm512_mask_storeu_epi16(
            x + d, first_lanes(D - d),
            (__m512i)round_pairs(load(from + d) * splat(factor), load(from + d + VL) * splat(factor)));
    }
}

static void unpack_rows(tg_bf16 *x, size_t ld, const float *from, size_t Dp, size_t rows, size_t D,
                        float factor)
{
    for (size_t r = 0; r < rows; r++)
        unpack_row(x + r * ld, from + r * Dp, D, factor);
}

/* ---- softmax */

/*
 * log2(x) for x > 0, error below 4e-7 max(1, |log2(x)|).
 * x = 2^n m with 1 <= m < 2.  log(m / sqrt(2)) = 2 artanh(y), y = (m - sqrt(2)) / (m + sqrt(2)), by its
 * series up to y^9, whose remainder is below 1e-9.
 */
INLINE vf log2_of(vf x)
{
    const vf m = (vf)_mm512_getmant_ps((__m512)x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
    const vf root = splat(1.41421356237309505f), y = (m - root) / (m + root), square = y * y;
    vf p = splat(1.0f / 9);

    p = p * square + splat(1.0f / 7);
    p = p * square + splat(1.0f / 5);
    p = p * square + splat(1.0f / 3);
    p = p * square + splat(1.0f);
    return (vf)_mm512_getexp_ps((__m512)x) + (splat(0.5f) + splat(2 * LOG2_E) * (y * p));
}

/* The lanes of queries i0 .. i0+15 of a block that see key j, if the block is on the diagonal. */
INLINE __mmask16 seen(bool diagonal, size_t i0, size_t j)
{
    return (__mmask16)(!diagonal || j <= i0 ? 0xFFFF : j - i0 < VL ? 0xFFFF << (j - i0) : 0);
}

INLINE vf only(__mmask16 lanes, vf x)
{
    return (vf)_mm512_maskz_mov_ps(lanes, (__m512)x);
}

/* The larger of a and b; a in other lanes. */
INLINE vf larger_of(vf a, vf b, __mmask16 lanes)
{
    return (vf)_mm512_mask_max_ps((__m512)a, lanes, (__m512)a, (__m512)b);
}

#endif
