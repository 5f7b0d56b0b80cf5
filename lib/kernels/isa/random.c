/* Random words, many at a time. */
#include "lib/kernels/isa/philox.h"

/* The words of LANES blocks. */
static void draw(uint32_t out[4 * LANES], const tg_rng *rng, uint64_t block)
{
    vq c[4][VECTORS];
    uint64_t word[4][LANES];

    philox(c, rng, block);
    memcpy(word, c, sizeof word);
    for (size_t l = 0; l < LANES; l++)
        for (size_t i = 0; i < 4; i++)
            out[4 * l + i] = (uint32_t)word[i][l];
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
