/* convert: exact conversions between types of numbers. */
#ifndef TG_BASE_CONVERT_H
#define TG_BASE_CONVERT_H

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

/* The value of a bfloat16, which is the upper half of a float32. */
static inline float tg_float_from_bf16(uint16_t bits)
{
    return tg_float_from_bits((uint32_t)bits << 16);
}

/* The value of an IEEE half (1 sign, 5 exponent, 10 fraction bits).  NaN stays NaN. */
static inline float tg_float_from_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 0x1F,
                   fraction = bits & 0x3FF;
    const float unit = sign ? -0x1p-24f : 0x1p-24f; /* the smallest subnormal number */

    if (exponent == 0)
        return unit * (float)fraction;
    return tg_float_from_bits(sign | (exponent == 31 ? 255 : exponent + 127 - 15) << 23 | fraction << 13);
}

#endif
