/* exp2: powers of two. */
#ifndef TG_KERNELS_ISA_EXP2_H
#define TG_KERNELS_ISA_EXP2_H

#include "lib/kernels/isa/isa.h"

#define LOG2_E 1.44269504088896340736f

/*
 * 2^x for x <= 126, relative error below 1.5e-7 before x's own; at most 2^-126 for x below -126; NaN for NaN.
 * x = n + r with 0 <= r <= 1, and 2^r by a minimax polynomial with relative error 8.3e-8, exact at 0.
 */
INLINE vf exp2_of(vf x)
{
#ifdef __AVX512F__
    const vf r = (vf)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
#else
    const vf bounded = larger(x, splat(-126)), magic = splat(12582912); /* 1.5 * 2^23 */
    const vf shifted = bounded - splat(0.5f) + magic; /* rounded to an integer, which its lowest bits are */
    const vf r = bounded - (shifted - magic);
#endif
    vf p = splat(0x1.e97502p-10f);

    p = p * r + splat(0x1.277854p-7f);
    p = p * r + splat(0x1.c91ce6p-5f);
    p = p * r + splat(0x1.ebdb56p-3f);
    p = p * r + splat(0x1.62e4bap-1f);
    p = p * r + splat(1.0f);
#ifdef __AVX512F__
    return (vf)_mm512_scalef_ps((__m512)p, (__m512)x);
#else
    p = (vf)((vu)p + ((vu)shifted << 23));
    return choose(x == x, p, x);
#endif
}

#endif
