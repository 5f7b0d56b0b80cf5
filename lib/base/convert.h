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

/* The value of an IEEE half (1 sign, 5 exponent, 10 fraction bits).  NaN stays NaN.  Without branches, so
 * that loops use vectors: the scale corrects the exponent's bias, for subnormal numbers too. */
static inline float tg_float_from_half(uint16_t bits)
{
    const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = (uint32_t)(bits & 0x7FFF) << 13;
    const uint32_t special = (bits & 0x7C00) == 0x7C00 ? 0x7F800000 : 0; /* infinity and NaN */
    const float scaled = tg_float_from_bits(rest) * 0x1p112f;
    uint32_t result;

    memcpy(&result, &scaled, sizeof result);
    return tg_float_from_bits(result | sign | special);
}

#endif
