/* Block types: decoding against the layouts read value by value, encoding against its definition, and
 * the conversions of single numbers. */
#include "formats/block_types.h"

#include <math.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/rng.h"
#include "tests/unit/check.h"
#include "tests/unit/ref_blocks.h"

static const char *const names[] = {"q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"};
enum { TYPES = sizeof names / sizeof names[0] };

/* ---- decoding */

#define BLOCKS 37

static void fill(unsigned char *p, size_t n, uint64_t seed)
{
    const tg_rng rng = {.seed = seed, .purpose = 7};

    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(256 * tg_rng_uniform(&rng, i));
}

static bool same_bits(float a, float b)
{
    return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof a) == 0;
}

static void every_value_is_decoded(void)
{
    static unsigned char memory[BLOCKS * 210 + 1];
    static float out[BLOCKS * TG_BLOCK_VALUES_MAX];
    unsigned char *blocks = memory + 1; /* no alignment */

    for (size_t t = 0; t < TYPES; t++) {
        const tg_blocks *type = blocks_named(names[t]);
        size_t wrong = 0;

        fill(blocks, BLOCKS * type->bytes, t);
        tg_blocks_decode(out, type, blocks, 0, BLOCKS * type->values);
        for (size_t i = 0; i < BLOCKS * type->values; i++)
            wrong += !same_bits(
                out[i], ref_block_value(type, blocks + i / type->values * type->bytes, i % type->values));
        CHECK_EQ(wrong, 0);
    }
}

static void decoding_begins_and_ends_anywhere(void)
{
    static unsigned char blocks[4 * 210];
    static float all[4 * TG_BLOCK_VALUES_MAX], part[4 * TG_BLOCK_VALUES_MAX + 1];

    fill(blocks, sizeof blocks, 99);
    for (size_t t = 0; t < TYPES; t++) {
        const tg_blocks *type = blocks_named(names[t]);
        const size_t count = 4 * type->values, step = type->values / 32 * 3 + 1;
        bool ok = true;

        tg_blocks_decode(all, type, blocks, 0, count);
        for (size_t first = 0; first <= count; first += step)
            for (size_t n = 0; n <= count - first; n += step) {
                part[n] = 12345;
                tg_blocks_decode(part, type, blocks, first, n);
                ok = ok && memcmp(part, all + first, n * sizeof *all) == 0 && part[n] == 12345;
            }
        CHECK(ok);
    }
}

static void types_have_names_and_numbers(void)
{
    for (size_t t = 0; t < TYPES; t++) {
        const tg_blocks *type = blocks_named(names[t]);

        CHECK(type && tg_blocks_numbered(type->gguf_type) == type);
        CHECK(type->values <= TG_BLOCK_VALUES_MAX);
    }
    CHECK(!blocks_named("q2_k") && !blocks_named("") && !blocks_named("f32"));
    CHECK(!tg_blocks_numbered(0) && !tg_blocks_numbered(9) && !tg_blocks_numbered(UINT32_MAX));
}

/* ---- encoding */

/* The definition, one value at a time. */
static void encode_naively(unsigned char *out, const float *in)
{
    float most = 0, inverse;
    uint16_t d;

    for (size_t i = 0; i < 32; i++)
        most = fmaxf(most, fabsf(in[i]));
    inverse = most / 127 > 0x1p-128f ? 1 / (most / 127) : 0;
    d = tg_half_from_float(most / 127);
    out[0] = (unsigned char)(d % 256);
    out[1] = (unsigned char)(d / 256);
    for (size_t i = 0; i < 32; i++)
        out[2 + i] = (unsigned char)(int)roundf(in[i] * inverse);
}

static void q8_0_is_written_as_it_is_defined(void)
{
    static const float scales[] = {1, 0, 1e-3f, 127, 1e6f, 1e-30f, 1e-39f, 1e-45f, TG_Q8_0_LIMIT};
    float in[32 * 9];
    unsigned char out[34 * 9], want[34 * 9];

    for (size_t b = 0; b < 9; b++)
        check_fill(in + 32 * b, 32, b, (double)scales[b]);
    for (size_t i = 0; i < 32; i++) /* halves, which are rounded away from zero */
        in[32 * 3 + i] = i == 0 ? 127 : (float)i - 15.5f;
    in[32 * 3 + 1] = 0x1.fffffep-2f; /* below a half */
    in[32 * 8] = -TG_Q8_0_LIMIT;
    for (size_t b = 0; b < 9; b++)
        encode_naively(want + 34 * b, in + 32 * b);
    tg_q8_0_encode(out, in, sizeof in / sizeof *in);
    CHECK(memcmp(out, want, sizeof out) == 0);
    CHECK_EQ((signed char)out[34 * 3 + 2 + 1], 0);
    CHECK_EQ((signed char)out[34 * 3 + 2 + 2], -14);
    CHECK_EQ(out[34 * 8] | out[34 * 8 + 1] << 8, 0x7BFF);
}

static void encoding_loses_at_most_half_a_step(void)
{
    float in[64], back[64];
    unsigned char out[68];

    check_fill(in, 64, 5, 3);
    tg_q8_0_encode(out, in, 64);
    tg_blocks_decode(back, blocks_named("q8_0"), out, 0, 64);
    for (size_t i = 0; i < 64; i++) /* half a step, and what the scale's 11 bits lose of 127 steps */
        CHECK_NEAR((double)back[i], (double)in[i], (0.5 + 127 * 0x1p-12) * 3 / 127 * 1.001);
}

/* ---- single numbers */

static void halves_round_to_nearest(void)
{
    size_t wrong = 0;

    for (uint32_t bits = 0; bits < 0x8000; bits++) {
        const float x = tg_float_from_half((uint16_t)bits);
        const bool finite = bits < 0x7C00;
        const float next = bits == 0x7BFF ? 65536 : tg_float_from_half((uint16_t)(bits + 1));
        const float middle = finite ? (x + next) / 2 : x;
        const uint16_t even = (uint16_t)(bits + (bits & 1));

        if (bits > 0x7C00) { /* NaN */
            wrong += isnan(tg_float_from_half(tg_half_from_float(x))) ? 0 : 1;
            continue;
        }
        wrong += tg_half_from_float(x) != bits || tg_half_from_float(-x) != (bits | 0x8000);
        wrong += finite && tg_half_from_float(middle) != even;
        wrong += finite && tg_half_from_float(-middle) != (even | 0x8000);
        wrong += finite && tg_half_from_float(nextafterf(middle, 0)) != bits;
        wrong += finite && tg_half_from_float(nextafterf(middle, INFINITY)) != bits + 1;
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(tg_half_from_float(1e30f), 0x7C00);
    CHECK_EQ(tg_half_from_float(-1e-30f), 0x8000);
}

static void bf16_rounds_to_nearest(void)
{
    CHECK_EQ(tg_bf16_from_float(1), 0x3F80);
    CHECK_EQ(tg_bf16_from_float(0x1.01p0f), 0x3F80); /* ties, to even */
    CHECK_EQ(tg_bf16_from_float(0x1.03p0f), 0x3F82);
    CHECK_EQ(tg_bf16_from_float(0x1.010002p0f), 0x3F81);
    CHECK_EQ(tg_bf16_from_float(-0x1.00fffep0f), 0xBF80);
    CHECK_EQ(tg_bf16_from_float(0x1.fffffep127f), 0x7F80);
    CHECK_EQ(tg_bf16_from_float(-INFINITY), 0xFF80);
    CHECK(isnan(tg_float_from_bf16(tg_bf16_from_float(tg_float_from_bits(0x7F800001)))));
}

int main(void)
{
    RUN(every_value_is_decoded);
    RUN(decoding_begins_and_ends_anywhere);
    RUN(types_have_names_and_numbers);
    RUN(q8_0_is_written_as_it_is_defined);
    RUN(encoding_loses_at_most_half_a_step);
    RUN(halves_round_to_nearest);
    RUN(bf16_rounds_to_nearest);
    return check_done();
}
