/*
 * matmul_words: operands' words of two values of k as bf16 instructions take them, that of even k in the
 * lower half: see matmul_vectors.h.  Float32 is rounded to nearest, ties to even.
 */
#ifndef TG_KERNELS_MATMUL_WORDS_H
#define TG_KERNELS_MATMUL_WORDS_H

#include "lib/kernels/isa/matmul_tile.h"

#define K_PER_WORD 2

/* From 2 VL contiguous values along k. */
INLINE vf words_along(const void *x, const tg_type type)
{
    vf words;

    if (type == TG_TYPE_FLOAT)
        return (vf)_mm512_cvtne2ps_pbh((__m512)load((const float *)x + VL), (__m512)load(x));
    memcpy(&words, x, sizeof words); /* x is aligned to nothing but its type */
    return words;
}

/* From the values of even k, and those of the next; the first n, others 0. */
INLINE vf words_across(const void *even, const void *odd, const size_t n, const tg_type type)
{
    const __mmask16 some = (__mmask16)((1u << n) - 1);
    const __m512i i = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i upper = _mm512_slli_epi32(_mm512_or_si512(i, _mm512_set1_epi32(VL)), 16);
    __m512i halves; /* all of even k, then the others */

    if (type == TG_TYPE_FLOAT)
        halves =
            (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(some, odd), _mm512_maskz_loadu_ps(some, even));
    else
        halves = _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi16(some, even)),
                                    _mm256_maskz_loadu_epi16(some, odd), 1);
    return (vf)_mm512_permutexvar_epi16(_mm512_or_si512(i, upper), halves);
}

/* The word of the values at x and next; NULL: 0. */
INLINE float word(const void *x, const void *next, const tg_type type)
{
    static const float zero;
    const void *odd = next ? next : &zero;
    float w;

    if (type == TG_TYPE_FLOAT) {
        const __m128bh pair =
            _mm_cvtne2ps_pbh(_mm_setzero_ps(), _mm_setr_ps(*(const float *)x, *(const float *)odd, 0, 0));

        memcpy(&w, &pair, sizeof w);
    } else {
        const uint32_t bits = *(const tg_bf16 *)x | (uint32_t) * (const tg_bf16 *)odd << 16;

        memcpy(&w, &bits, sizeof w);
    }
    return w;
}

#endif
