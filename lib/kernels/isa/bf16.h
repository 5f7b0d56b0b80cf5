/* bf16: packing float32 values to words of two, as bf16 instructions take them. */
#ifndef TG_KERNELS_BF16_H
#define TG_KERNELS_BF16_H

#include <immintrin.h>

#include "lib/kernels/isa/isa.h"

/* A word of two values; that of even k is in the lower half. */
INLINE float word(float even, float odd)
{
    __m128bh pair = _mm_cvtne2ps_pbh(_mm_setzero_ps(), _mm_setr_ps(even, odd, 0, 0));
    float w;

    memcpy(&w, &pair, sizeof w);
    return w;
}

/* VL words of 2 VL contiguous values. */
INLINE vf words_along(const float *x)
{
    return (vf)_mm512_cvtne2ps_pbh((__m512)load(x + VL), (__m512)load(x));
}

/* VL words, from the VL values of an even k and the VL of the next. */
INLINE vf words_across(const float *even, const float *odd)
{
    __m512i low = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)load(even)));
    __m512i high = _mm512_cvtepu16_epi32((__m256i)_mm512_cvtneps_pbh((__m512)load(odd)));

    return (vf)_mm512_or_si512(low, _mm512_slli_epi32(high, 16));
}

#endif
