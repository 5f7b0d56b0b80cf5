/*
 * bf16: vectors and rows of bf16, and words of two values as bf16 instructions take them.
 *
 * Rounding is to nearest, ties to even.
 */
#ifndef TG_KERNELS_ISA_BF16_H
#define TG_KERNELS_ISA_BF16_H

#include "lib/base/bf16.h"
#include "lib/kernels/isa/isa.h"

typedef tg_bf16 vh __attribute__((vector_size(VL * 2)));

/* ---- VL values */

INLINE vu load_bf16_bits(const tg_bf16 *p)
{
    vh h;

    memcpy(&h, p, sizeof h);
    return __builtin_convertvector(h, vu);
}

INLINE vf load_bf16(const tg_bf16 *p)
{
    return (vf)(load_bf16_bits(p) << 16);
}

/* The bits of x, rounded; a NaN stays one. */
INLINE vh to_bf16(vf x)
{
#ifdef __AVX512BF16__
    return (vh)_mm512_cvtneps_pbh((__m512)x);
#else
    const vu bits = (vu)x, is_nan = (vu)(x != x);
    const vu rounded = (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;

    return __builtin_convertvector((rounded & ~is_nan) | ((bits >> 16 | 0x40) & is_nan), vh);
#endif
}

INLINE void store_bf16(tg_bf16 *p, vf x)
{
    const vh h = to_bf16(x);

    memcpy(p, &h, sizeof h);
}

/* ---- rows of any length */

INLINE void widen_row(float *restrict out, const tg_bf16 *restrict x, size_t n)
{
    size_t i = 0;

    for (; i + VL <= n; i += VL)
        store(out + i, load_bf16(x + i));
    if (i < n) {
        tg_bf16 last[VL] = {0};
        float wide[VL];

        memcpy(last, x + i, (n - i) * sizeof *x);
        store(wide, load_bf16(last));
        memcpy(out + i, wide, (n - i) * sizeof *out);
    }
}

/* out may be where x is. */
INLINE void round_row(tg_bf16 *out, const float *x, size_t n)
{
    size_t i = 0;

    for (; i + VL <= n; i += VL)
        store_bf16(out + i, load(x + i));
    if (i < n) {
        float last[VL] = {0};
        vh h;

        memcpy(last, x + i, (n - i) * sizeof *x);
        h = to_bf16(load(last));
        memcpy(out + i, &h, (n - i) * sizeof *out);
    }
}

/* ---- words: two values, that of even k in the lower half */

#ifdef __AVX512BF16__

/* Word i has value i of the lower half, and value i of the upper half. */
INLINE vf interleave(__m512i halves)
{
    const __m512i i = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i upper = _mm512_slli_epi32(_mm512_or_si512(i, _mm512_set1_epi32(VL)), 16);

    return (vf)_mm512_permutexvar_epi16(_mm512_or_si512(i, upper), halves);
}

/* From the values of even k, and those of the next; the first n, others 0. */
INLINE vf words_of_floats(const float *even, const float *odd, const size_t n)
{
    const __mmask16 some = (__mmask16)((1u << n) - 1);

    return interleave(
        (__m512i)_mm512_cvtne2ps_pbh(_mm512_maskz_loadu_ps(some, odd), _mm512_maskz_loadu_ps(some, even)));
}

INLINE vf words_of_halves(const tg_bf16 *even, const tg_bf16 *odd, const size_t n)
{
    const __mmask16 some = (__mmask16)((1u << n) - 1);

    return interleave(_mm512_inserti64x4(_mm512_castsi256_si512(_mm256_maskz_loadu_epi16(some, even)),
                                         _mm256_maskz_loadu_epi16(some, odd), 1));
}

/* From 2 VL contiguous values along k. */
INLINE vf words_along_floats(const float *x)
{
    return (vf)_mm512_cvtne2ps_pbh((__m512)load(x + VL), (__m512)load(x));
}

INLINE vf words_along_halves(const void *x)
{
    vf words;

    memcpy(&words, x, sizeof words); /* x is aligned to nothing but its type */
    return words;
}

/* One word. */
INLINE float word_of_floats(float even, float odd)
{
    const __m128bh pair = _mm_cvtne2ps_pbh(_mm_setzero_ps(), _mm_setr_ps(even, odd, 0, 0));
    float w;

    memcpy(&w, &pair, sizeof w);
    return w;
}

#endif

INLINE float word_of_halves(tg_bf16 even, tg_bf16 odd)
{
    const uint32_t bits = even | (uint32_t)odd << 16;
    float w;

    memcpy(&w, &bits, sizeof w);
    return w;
}

#endif
