/*
 * tiles_model: the tile unit in C (lib/kernels/isa/tiles.h), for processors without one.  What
 * the tile unit's kernels are compiled with for tests includes this before everything else.
 *
 * Products of bf16 are exact in float32.  The sums are the instruction's: of the even k and of the
 * odd k by themselves, with one rounding per term, and of both and what was there before.  The
 * instruction also takes numbers below 2^-126 as 0, which this does not.
 *
 * Whoever uses a register without begin_tiles() finds NaN in it.
 */
#ifndef TG_TESTS_TILES_MODEL_H
#define TG_TESTS_TILES_MODEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TG_TILES 1
#define TG_KERNELS_TILES_H

static _Thread_local unsigned char tiles_model[8][16][64];

static inline void begin_tiles(void)
{
    memset(tiles_model, 0, sizeof tiles_model);
}

static inline void end_tiles(void)
{
    memset(tiles_model, 0xFF, sizeof tiles_model);
}

static inline void tile_zero(int t)
{
    memset(tiles_model[t], 0, sizeof tiles_model[t]);
}

static inline void tile_load(int t, const void *from, size_t stride)
{
    for (size_t r = 0; r < 16; r++)
        memcpy(tiles_model[t][r], (const char *)from + r * stride, 64);
}

static inline void tile_store(int t, void *to, size_t stride)
{
    for (size_t r = 0; r < 16; r++)
        memcpy((char *)to + r * stride, tiles_model[t][r], 64);
}

/* What has its own arrays alone; the sanitizers would take twenty times as long. */
#define TILES_MODEL_OWN __attribute__((no_sanitize("address"), no_sanitize("undefined")))

/* The bf16 in the upper, or the lower, half of a word. */
TILES_MODEL_OWN static inline float tiles_model_half(uint32_t word, int upper)
{
    const uint32_t bits = upper ? word & 0xFFFF0000 : word << 16;
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

TILES_MODEL_OWN static inline void tile_multiply(int c, int a, int b)
{
    uint32_t words_a[16][16], words_b[16][16];
    float sums[16][16];

    memcpy(words_a, tiles_model[a], sizeof words_a);
    memcpy(words_b, tiles_model[b], sizeof words_b);
    memcpy(sums, tiles_model[c], sizeof sums);
    for (size_t m = 0; m < 16; m++) {
        float even[16] = {0}, odd[16] = {0};

        for (size_t k = 0; k < 16; k++)
            for (size_t n = 0; n < 16; n++) {
                even[n] =
                    fmaf(tiles_model_half(words_a[m][k], 0), tiles_model_half(words_b[k][n], 0), even[n]);
                odd[n] = fmaf(tiles_model_half(words_a[m][k], 1), tiles_model_half(words_b[k][n], 1), odd[n]);
            }
        for (size_t n = 0; n < 16; n++)
            sums[m][n] += even[n] + odd[n];
    }
    memcpy(tiles_model[c], sums, sizeof sums);
}

#endif
