#include "tests/unit/ref_blocks.h"

#include <stdbool.h>

#include "lib/base/convert.h"

static float half_at(const unsigned char *p)
{
    return tg_float_from_half((uint16_t)(p[0] + 256 * p[1]));
}

static int bit(const unsigned char *p, size_t i)
{
    return p[i / 8] >> i % 8 & 1;
}

/* Six bits: the scale i of q4_k or q5_k, or, 8 later, its offset. */
static int six_bits(const unsigned char *p, size_t i)
{
    const unsigned char *high = p + 8 + i % 4, *low = p + 4 * (i / 8) + i % 4;

    return i % 8 < 4 ? *low & 63 : (i < 8 ? *high & 15 : *high >> 4) + 16 * (*low >> 6);
}

static int nibble(unsigned char byte, bool upper)
{
    return upper ? byte >> 4 : byte & 15;
}

static float value_of_k(const unsigned char *p, size_t i, const unsigned char *fifth, const unsigned char *q)
{
    const int low = nibble(q[i / 64 * 32 + i % 32], i % 64 >= 32);
    const int whole = low + (fifth ? 16 * (fifth[i % 32] >> i / 32 & 1) : 0);
    const float scale = half_at(p) * (float)six_bits(p + 4, i / 32);
    const float offset = half_at(p + 2) * (float)six_bits(p + 4, 8 + i / 32);

    return scale * (float)whole - offset;
}

static float value_of_q6_k(const unsigned char *p, size_t i)
{
    const size_t half = i / 128, j = i % 128;
    const int low = nibble(p[64 * half + j % 64], j >= 64);
    const int upper = p[128 + 32 * half + j % 32] >> 2 * (j / 32) & 3;
    const float scale = half_at(p + 208) * (float)(signed char)p[192 + i / 16];

    return scale * (float)(low + 16 * upper - 32);
}

float ref_block_value(const tg_blocks *type, const unsigned char *p, size_t i)
{
    const float d = half_at(p);

    switch (type->gguf_type) {
    case 2:
        return (float)(nibble(p[2 + i % 16], i >= 16) - 8) * d;
    case 3:
        return (float)nibble(p[4 + i % 16], i >= 16) * d + half_at(p + 2);
    case 6:
        return (float)(nibble(p[6 + i % 16], i >= 16) + 16 * bit(p + 2, i) - 16) * d;
    case 7:
        return (float)(nibble(p[8 + i % 16], i >= 16) + 16 * bit(p + 4, i)) * d + half_at(p + 2);
    case 8:
        return (float)(signed char)p[2 + i] * d;
    case 12:
        return value_of_k(p, i, NULL, p + 16);
    case 13:
        return value_of_k(p, i, p + 16, p + 48);
    default:
        return value_of_q6_k(p, i);
    }
}
