/*
 * vectors16: vectors and rows of bf16.
 *
 * Rounding is to nearest, ties to even.
 */
#ifndef TG_KERNELS_ISA_VECTORS16_H
#define TG_KERNELS_ISA_VECTORS16_H

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

#endif
