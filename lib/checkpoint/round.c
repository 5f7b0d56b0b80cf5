/* Float32 rounded to 16 bits. */
#include <math.h>
#include <string.h>

#include "lib/checkpoint/model_format.h"

#define THREADS_FROM ((size_t)1 << 16) /* values; for fewer, starting threads costs more than it saves */

static uint32_t bits_of(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Bits without the lowest `drop`, rounded to nearest, ties to even. */
static uint32_t round_off(uint32_t bits, unsigned drop)
{
    return (bits + (1u << (drop - 1)) - 1 + (bits >> drop & 1)) >> drop;
}

/* A number too large gets an exponent of all ones, that of infinity, or one beyond it. */
static uint16_t bf16_of(float x)
{
    return (uint16_t)round_off(bits_of(x), 16);
}

static uint16_t half_of(float x)
{
    const uint32_t bits = bits_of(x), magnitude = bits & 0x7FFFFFFF, sign = bits >> 16 & 0x8000;
    /* below 2^-14 a half's unit is 2^-24; added to 0.5, a float32 has that unit, too */
    const uint32_t small = bits_of(from_bits(magnitude) + 0.5f) - bits_of(0.5f);
    const uint32_t normal = round_off(magnitude - ((127 - 15) << 23), 13);
    const uint32_t rounded = magnitude < (uint32_t)(127 - 14) << 23    ? small
                             : magnitude >= (uint32_t)(127 + 16) << 23 ? 0x7C00 /* 65536 or more */
                                                                       : normal;

    return (uint16_t)(sign | rounded);
}

static tg_status too_large(const uint16_t *out, const float *x, size_t n, uint16_t infinite, const char *type,
                           const char *max, const char *name, tg_err *err)
{
    for (size_t i = 0; i < n; i++)
        if ((out[i] & infinite) == infinite)
            return tg_fail(err, TG_EDATA, "%s[%zu] is %g: %s holds at most %s", name, i, (double)x[i], type,
                           max);
    return TG_OK;
}

tg_status tg_to_half(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err)
{
    unsigned bad = 0;

#pragma omp parallel for schedule(static) reduction(| : bad) if (n > THREADS_FROM)
    for (size_t i = 0; i < n; i++) {
        out[i] = half_of(x[i]);
        bad |= (out[i] & 0x7C00) == 0x7C00;
    }
    return bad ? too_large(out, x, n, 0x7C00, "f16", "65504", name, err) : TG_OK;
}

tg_status tg_to_bf16(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err)
{
    unsigned bad = 0;

#pragma omp parallel for schedule(static) reduction(| : bad) if (n > THREADS_FROM)
    for (size_t i = 0; i < n; i++) {
        out[i] = bf16_of(x[i]);
        bad |= (out[i] & 0x7F80) == 0x7F80;
    }
    return bad ? too_large(out, x, n, 0x7F80, "bf16", "3.39e38", name, err) : TG_OK;
}
