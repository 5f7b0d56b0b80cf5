#include "formats/block_types.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "formats/span.h"
#include "lib/base/convert.h"
#include "lib/base/size.h"

/*
 * In what follows `in` is a block, d its scale and m its offset, both halves; q its integers.  Two
 * four-bit integers share a byte: value j is in the lower half of byte j, and the upper half belongs to
 * a value half a block, or in the 256-value types 32 or 64 values, after it.
 */

static float half_at(const unsigned char *p)
{
    return tg_float_from_half(tg_get16(p));
}

/* ---- 32 values */

/* d, q[32] */
static void decode_q8_0(float *restrict out, const unsigned char *restrict in, size_t n)
{
    for (; n > 0; n--, in += TG_Q8_0_BYTES, out += 32) {
        const signed char *q = (const signed char *)in + 2;
        const float d = half_at(in);

        for (size_t j = 0; j < 32; j++)
            out[j] = (float)q[j] * d;
    }
}

/* fifth[j] is 16 where bit j of the four bytes at p is set, else 0. */
static void spread_bits(unsigned char fifth[32], const unsigned char *p)
{
    for (size_t i = 0; i < 4; i++) {
        const uint64_t copies = p[i] * UINT64_C(0x0101010101010101), bits = copies & 0x8040201008040201;
        const uint64_t tops = (bits + 0x7F7F7F7F7F7F7F7F) & 0x8080808080808080, ones = tops >> 3;

        memcpy(fifth + 8 * i, &ones, 8); /* little-endian: bit 0 becomes the first byte */
    }
}

/* d, m if the type has it, the fifth bits if it has them, q[16]; integers are offset by `offset` */
static inline void decode_32(float *restrict out, const unsigned char *restrict in, size_t n, bool has_m,
                             bool has_fifth, int offset)
{
    const size_t before_q = 2u + (has_m ? 2u : 0) + (has_fifth ? 4u : 0);
    unsigned char fifth[32];

    for (; n > 0; n--, in += before_q + 16, out += 32) {
        const unsigned char *q = in + before_q;
        const float d = half_at(in), m = has_m ? half_at(in + 2) : 0;

        if (has_fifth)
            spread_bits(fifth, q - 4);
        for (size_t j = 0; j < 16; j++) {
            const float x = (float)(((q[j] & 15) | (has_fifth ? fifth[j] : 0)) - offset) * d;

            out[j] = has_m ? x + m : x;
        }
        for (size_t j = 0; j < 16; j++) {
            const float x = (float)((q[j] >> 4 | (has_fifth ? fifth[j + 16] : 0)) - offset) * d;

            out[j + 16] = has_m ? x + m : x;
        }
    }
}

static void decode_q4_0(float *restrict out, const unsigned char *restrict in, size_t n)
{
    decode_32(out, in, n, false, false, 8);
}

static void decode_q4_1(float *restrict out, const unsigned char *restrict in, size_t n)
{
    decode_32(out, in, n, true, false, 0);
}

static void decode_q5_0(float *restrict out, const unsigned char *restrict in, size_t n)
{
    decode_32(out, in, n, false, true, 16);
}

static void decode_q5_1(float *restrict out, const unsigned char *restrict in, size_t n)
{
    decode_32(out, in, n, true, true, 0);
}

/* ---- 256 values */

/* The 8 scales and 8 offsets, six bits each, of a block of q4_k or q5_k: the first four of both are the
 * lower six bits of bytes 0 to 7; the others have four bits in bytes 8 to 11 and two at the top of those. */
static void unpack_scales(unsigned char scale[8], unsigned char offset[8], const unsigned char *p)
{
    for (size_t j = 0; j < 4; j++) {
        scale[j] = p[j] & 63;
        offset[j] = p[j + 4] & 63;
        scale[j + 4] = (unsigned char)((p[j + 8] & 15) | p[j] >> 6 << 4);
        offset[j + 4] = (unsigned char)(p[j + 8] >> 4 | p[j + 4] >> 6 << 4);
    }
}

/* d, m, the scales (12 bytes), the fifth bits [32] if the type has them, q[128].  32 values have a scale and
 * an offset of their own; bit i of byte j of the fifth bits belongs to value 32 i + j. */
static inline void decode_256(float *restrict out, const unsigned char *restrict in, size_t n, bool has_fifth)
{
    const size_t before_q = has_fifth ? 48 : 16;
    unsigned char scale[8], offset[8];

    for (; n > 0; n--, in += before_q + 128) {
        const unsigned char *fifth = in + 16, *q = in + before_q;
        const float d = half_at(in), m = half_at(in + 2);

        unpack_scales(scale, offset, in + 4);
        for (size_t i = 0; i < 8; i += 2, q += 32, out += 64) {
            const float d0 = d * (float)scale[i], m0 = m * (float)offset[i];
            const float d1 = d * (float)scale[i + 1], m1 = m * (float)offset[i + 1];

            for (size_t j = 0; j < 32; j++)
                out[j] = d0 * (float)((q[j] & 15) | (has_fifth ? (fifth[j] >> i & 1) << 4 : 0)) - m0;
            for (size_t j = 0; j < 32; j++)
                out[j + 32] = d1 * (float)(q[j] >> 4 | (has_fifth ? (fifth[j] >> (i + 1) & 1) << 4 : 0)) - m1;
        }
    }
}

static void decode_q4_k(float *restrict out, const unsigned char *restrict in, size_t n)
{
    decode_256(out, in, n, false);
}

static void decode_q5_k(float *restrict out, const unsigned char *restrict in, size_t n)
{
    decode_256(out, in, n, true);
}

/* 32 values of q6_k: four bits of q, shifted by 0 or 4, and two of `upper`, shifted by 0, 2, 4 or 6.
 * Each 16 values have a scale. */
static inline void decode_32_of_q6_k(float *restrict out, const unsigned char *restrict q, unsigned q_shift,
                                     const unsigned char *restrict upper, unsigned shift, float d,
                                     const signed char *scale)
{
    const float d0 = d * (float)scale[0], d1 = d * (float)scale[1];

    for (size_t j = 0; j < 16; j++)
        out[j] = d0 * (float)(((q[j] >> q_shift & 15) | (upper[j] >> shift & 3) << 4) - 32);
    for (size_t j = 16; j < 32; j++)
        out[j] = d1 * (float)(((q[j] >> q_shift & 15) | (upper[j] >> shift & 3) << 4) - 32);
}

/* q[128], the upper two bits [64], scales[16], d; integers are offset by 32.  In each half of the
 * block a byte of q has bits of values j and j + 64, a byte of the upper ones of j, j + 32, ... */
static void decode_q6_k(float *restrict out, const unsigned char *restrict in, size_t n)
{
    for (; n > 0; n--, in += 210) {
        const float d = half_at(in + 208);

        for (size_t i = 0; i < 2; i++, out += 128) {
            const unsigned char *q = in + 64 * i, *upper = in + 128 + 32 * i;
            const signed char *scale = (const signed char *)in + 192 + 8 * i;

            decode_32_of_q6_k(out, q, 0, upper, 0, d, scale);
            decode_32_of_q6_k(out + 32, q + 32, 0, upper, 2, d, scale + 2);
            decode_32_of_q6_k(out + 64, q, 4, upper, 4, d, scale + 4);
            decode_32_of_q6_k(out + 96, q + 32, 4, upper, 6, d, scale + 6);
        }
    }
}

/* ---- the table */

static const tg_blocks types[] = {
    {"q4_0", 2, 32, 18, decode_q4_0},    {"q4_1", 3, 32, 20, decode_q4_1},
    {"q5_0", 6, 32, 22, decode_q5_0},    {"q5_1", 7, 32, 24, decode_q5_1},
    {"q8_0", 8, 32, 34, decode_q8_0},    {"q4_k", 12, 256, 144, decode_q4_k},
    {"q5_k", 13, 256, 176, decode_q5_k}, {"q6_k", 14, 256, 210, decode_q6_k},
};
enum { TYPES = sizeof types / sizeof types[0] };

const tg_blocks *tg_blocks_numbered(uint32_t gguf_type)
{
    for (size_t i = 0; i < TYPES; i++)
        if (types[i].gguf_type == gguf_type)
            return &types[i];
    return NULL;
}

void tg_blocks_decode(float *out, const tg_blocks *type, const void *in, size_t first, size_t n)
{
    const unsigned char *block = (const unsigned char *)in + first / type->values * type->bytes;
    size_t skip = first % type->values;
    float one[TG_BLOCK_VALUES_MAX];

    assert(type->values <= TG_BLOCK_VALUES_MAX);
    while (n > 0) {
        const size_t whole = skip > 0 ? 0 : n / type->values;

        if (whole > 0) {
            type->decode(out, block, whole);
            out += whole * type->values;
            block += whole * type->bytes;
            n -= whole * type->values;
        } else {
            const size_t part = tg_size_min(n, type->values - skip);

            type->decode(one, block, 1);
            memcpy(out, one + skip, part * sizeof *out);
            out += part;
            block += type->bytes;
            n -= part;
            skip = 0;
        }
    }
}

/* ---- encoding */

/* The largest magnitude; the bits of magnitudes are ordered like them. */
static float largest(const float *in, size_t n)
{
    int32_t most = 0;

    for (size_t i = 0; i < n; i++) {
        int32_t bits;

        memcpy(&bits, in + i, sizeof bits);
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    return tg_float_from_bits((uint32_t)most);
}

void tg_q8_0_encode(void *out, const float *in, size_t n)
{
    unsigned char *block = out;

    assert(n % TG_Q8_0_VALUES == 0);
    for (; n > 0; n -= TG_Q8_0_VALUES, in += TG_Q8_0_VALUES, block += TG_Q8_0_BYTES) {
        const float d = largest(in, TG_Q8_0_VALUES) / 127;
        const float inverse = d > 0x1p-128f ? 1.0f / d : 0.0f; /* finite */
        const uint16_t scale = tg_half_from_float(d);
        int32_t q[TG_Q8_0_VALUES];

        for (size_t j = 0; j < TG_Q8_0_VALUES; j++) {
            const float x = in[j] * inverse, rest = x - (float)(int32_t)x; /* exact */

            q[j] = (int32_t)x + (rest >= 0.5f) - (rest <= -0.5f);
        }
        for (size_t j = 0; j < TG_Q8_0_VALUES; j++)
            block[2 + j] = (unsigned char)q[j];
        block[0] = (unsigned char)scale;
        block[1] = (unsigned char)(scale >> 8);
    }
}
