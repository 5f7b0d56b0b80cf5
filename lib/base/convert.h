/* convert: conversions between types of numbers, exact or rounded to nearest, ties to even. */
#ifndef TG_BASE_CONVERT_H
#define TG_BASE_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* out[i] = in[i] for i < n.  out and in do not overlap. */
static inline void tg_double_from_float(double *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (double)in[i];
}

/* The float32 with these bits. */
static inline float tg_float_from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint32_t tg_bits_from_float(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline bool tg_is_finite(float x)
{
    return (tg_bits_from_float(x) & 0x7F800000) != 0x7F800000;
}

/* The value of a bfloat16, which is the upper half of a float32. */
static inline float tg_float_from_bf16(uint16_t bits)
{
    return tg_float_from_bits((uint32_t)bits << 16);
}

/* out[i] = in[i] for i < n.  out and in do not overlap. */
static inline void tg_floats_from_bf16(float *out, const uint16_t *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = tg_float_from_bf16(in[i]);
}

static inline bool tg_bf16_is_finite(uint16_t bits)
{
    return (bits & 0x7F80) != 0x7F80;
}

/* The value of an IEEE half (1 sign, 5 exponent, 10 fraction bits).  NaN stays NaN.  Without branches, so
 * that loops use vectors: the scale, 2^112, corrects the exponent's bias, for subnormal numbers too. */
static inline float tg_float_from_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = (uint32_t)(bits & 0x7FFF) << 13;
    const uint32_t special = (bits & 0x7C00) == 0x7C00 ? 0x7F800000 : 0; /* infinity and NaN */
    const float scaled = tg_float_from_bits(rest) * 5192296858534827628530496329220096.0f;

    return tg_float_from_bits(tg_bits_from_float(scaled) | sign | special);
}

/* The nearest bfloat16; beyond its range infinity.  NaN stays NaN. */
static inline uint16_t tg_bf16_from_float(float x)
{
    const uint32_t bits = tg_bits_from_float(x), rounded = bits + 0x7FFF + (bits >> 16 & 1);

    return (uint16_t)((x != x ? bits | 0x400000 : rounded) >> 16);
}

/* One of the two bfloat16s around a finite x, at random: `random`, below 2^16, is added to the bits that are
 * dropped, and a carry makes it the one farther from 0. */
static inline uint16_t tg_bf16_at_random(float x, uint32_t random)
{
    return (uint16_t)((tg_bits_from_float(x) + random) >> 16);
}

/* The nearest half; beyond its range (from 65520 on) infinity.  NaN stays NaN.  Without branches, so that
 * loops use vectors: a mask chooses the form for subnormal numbers. */
static inline uint16_t tg_half_from_float(float x)
{
    const uint32_t bits = tg_bits_from_float(x), sign = bits >> 16 & 0x8000;
    const int32_t size = (int32_t)(bits & 0x7FFFFFFF);
    const int32_t is_small = -(size < 0x38800000);
    /* Adding 0.5 moves the units of a subnormal half to the lowest bits, and rounds. */
    const uint32_t moved = tg_bits_from_float(tg_float_from_bits((uint32_t)size) + 0.5f);
    const int32_t small = (int32_t)(moved - 0x3F000000);
    const int32_t normal = (size - ((127 - 15) << 23) + 0xFFF + (size >> 13 & 1)) >> 13;
    const int32_t large = size > 0x7F800000 ? 0x7E00 : 0x7C00;
    const int32_t other = size < 0x47800000 ? normal : large;

    return (uint16_t)(sign | (uint32_t)((small & is_small) | (other & ~is_small)));
}

/* Round x [n] to halves, or to bfloat16s, at out [2n bytes, of any alignment]; they do not overlap.  Returns
 * whether all results are finite. */
bool tg_round_to_half(void *out, const float *x, size_t n);
bool tg_round_to_bf16(void *out, const float *x, size_t n);

#endif
