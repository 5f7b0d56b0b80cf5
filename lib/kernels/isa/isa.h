/*
 * isa: what the files of this folder share.  Each is compiled once per instruction
 * set, with TG_ISA naming it; ISA_NAME(name) is then tg_name_<isa>, and ISA_TEXT "<isa>".
 *
 * Vectors are GNU C vector extensions of the instruction set's own width; loops
 * without a reduction are left to the compiler's vectoriser.
 */
#ifndef TG_KERNELS_ISA_H
#define TG_KERNELS_ISA_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TG_PASTE2(a, b) tg_##a##_##b
#define TG_PASTE(a, b) TG_PASTE2(a, b)
#define ISA_NAME(name) TG_PASTE(name, TG_ISA)

#define TG_QUOTE2(x) #x
#define TG_QUOTE(x) TG_QUOTE2(x)
#define ISA_TEXT TG_QUOTE(TG_ISA)

#ifdef __AVX__
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VL 16
#elif defined(__AVX__)
#define VL 8
#else
#define VL 4
#endif

/* A vector of VL floats; vfu is the same at any address. */
typedef float vf __attribute__((vector_size(VL * 4)));
typedef float vfu __attribute__((vector_size(VL * 4), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef uint32_t vu __attribute__((vector_size(VL * 4)));

#define INLINE static inline __attribute__((always_inline))

/* For what is unrolled: in one function with its callers, a compiler takes several times as long for it. */
#define OUT_OF_LINE static __attribute__((noinline))

INLINE vf load(const float *p)
{
    return *(const vfu *)p;
}

INLINE void store(float *p, vf x)
{
    *(vfu *)p = x;
}

INLINE vf splat(float x)
{
    return x - (vf){0};
}

/* sum + a b.  Assembly fixes the form that adds to a register: gcc mixes the instruction's
 * three forms, and then copies and spills sums. */
INLINE vf add_product(vf sum, vf a, vf b)
{
#ifdef __FMA__
    __asm__("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return sum;
#else
    return sum + a * b;
#endif
}

INLINE vf choose(vi which, vf a, vf b)
{
    return (vf)(((vi)a & which) | ((vi)b & ~which));
}

/* a > b ? a : b and a < b ? a : b, so that of a NaN and a number the second one is taken. */
#if defined(__AVX512F__)
INLINE vf larger(vf a, vf b)
{
    return (vf)_mm512_max_ps((__m512)a, (__m512)b);
}

INLINE vf smaller(vf a, vf b)
{
    return (vf)_mm512_min_ps((__m512)a, (__m512)b);
}
#elif defined(__AVX__)
INLINE vf larger(vf a, vf b)
{
    return (vf)_mm256_max_ps((__m256)a, (__m256)b);
}

INLINE vf smaller(vf a, vf b)
{
    return (vf)_mm256_min_ps((__m256)a, (__m256)b);
}
#else
INLINE vf larger(vf a, vf b)
{
    return choose(a > b, a, b);
}

INLINE vf smaller(vf a, vf b)
{
    return choose(a < b, a, b);
}
#endif

/* The sum of the lanes, pairwise: the same tree with every compiler. */
INLINE float sum_lanes(vf x)
{
    float lane[VL];

    store(lane, x);
    for (size_t n = VL / 2; n > 0; n /= 2)
        for (size_t i = 0; i < n; i++)
            lane[i] += lane[i + n];
    return lane[0];
}

/*
 * exp(x), relative error below 2e-7 over the whole range; 0 below -87.3, the
 * exponential of 88.37 above it, NaN for NaN.
 * x = n ln 2 + r with |r| <= ln 2 / 2.  A Taylor polynomial of degree 7 in r, whose
 * remainder r^8/8! is below 5e-9, is multiplied by 2^n in the exponent's bits.
 */
INLINE float exp_f32(float x)
{
    const float magic = 12582912.0f;         /* 1.5 * 2^23: adding it rounds to an integer */
    float clamped = x > -87.3f ? x : -87.3f; /* also replaces a NaN, which the end restores */
    float shifted, n, r, p;
    int32_t bits;

    clamped = clamped > 88.37f ? 88.37f : clamped;
    shifted = clamped * 1.44269504f + magic;
    n = shifted - magic;
    r = clamped - n * 0.693359375f;
    r = r + n * 2.12194440e-4f;
    p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    memcpy(&bits, &p, sizeof bits);
    bits += (int32_t)n * (1 << 23);
    memcpy(&p, &bits, sizeof p);
    p = x < -87.3f ? 0.0f : p;
    return x == x ? p : x;
}

/*
 * tanh(x), relative error below 3e-7.
 * Below 5/8 a minimax polynomial of degree 9, relative error 8e-9; above it 1 - 2 / (1 + exp(2 x)).
 */
INLINE float tanh_f32(float x)
{
    const float a = x < 0 ? -x : x, z = x * x, large = 1 - 2 / (1 + exp_f32(2 * a));
    float p = -0x1.69710cp-8f;

    p = p * z + 0x1.4f5ef6p-6f;
    p = p * z - 0x1.b7cff2p-5f;
    p = p * z + 0x1.1103f2p-3f;
    p = p * z - 0x1.555524p-2f;
    p = x + x * (z * p);
    return a < 0.625f ? p : x < 0 ? -large : large;
}

/* A soft bound (lib/nn/softcap.h). */
INLINE void cap_each(float *x, float cap, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] = cap * tanh_f32(x[i] / cap);
}

#endif
