/* Random words, many at a time. */
#include "lib/kernels/isa/philox.h"

/* The words of LANES blocks. */
static void draw(uint32_t out[4 * LANES], const tg_rng *rng, uint64_t block)
{
    uint32_t c0[LANES], c1[LANES], c2[LANES], c3[LANES];

    philox(c0, c1, c2, c3, rng, block);
    for (size_t l = 0; l < LANES; l++) {
        out[4 * l] = c0[l];
        out[4 * l + 1] = c1[l];
        out[4 * l + 2] = c2[l];
        out[4 * l + 3] = c3[l];
    }
}

void ISA_NAME(random_words)(uint32_t *out, const tg_rng *rng, uint64_t first, size_t n)
{
    uint32_t words[4 * LANES];

    while (n > 0) {
        const size_t skip = first % 4, most = 4 * LANES - skip, some = n < most ? n : most;

        draw(words, rng, first / 4);
        memcpy(out, words + skip, some * sizeof *out);
        out += some;
        first += some;
        n -= some;
    }
}

void ISA_NAME(dropout_factors)(float *out, const tg_rng *rng, uint64_t first, size_t n, uint32_t threshold,
                               float kept)
{
    uint32_t words[4 * LANES];
    float factors[4 * LANES];

    while (n > 0) {
        const size_t skip = first % 4, most = 4 * LANES - skip, some = n < most ? n : most;

        draw(words, rng, first / 4);
        for (size_t i = 0; i < 4 * LANES; i++)
            factors[i] = words[i] < threshold ? 0.0f : kept;
        memcpy(out, factors + skip, some * sizeof *out);
        out += some;
        first += some;
        n -= some;
    }
}
