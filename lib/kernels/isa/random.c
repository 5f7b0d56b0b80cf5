/* Random words, many at a time, and dropout's factors. */
#include "lib/kernels/isa/philox.h"

/* The words of LANES blocks. */
static void draw(uint32_t out[4 * LANES], const tg_rng *rng, uint64_t block)
{
    uint64_t word[4][LANES];

    philox(word, rng, block);
    for (size_t l = 0; l < LANES; l++)
        for (size_t i = 0; i < 4; i++)
            out[4 * l + i] = (uint32_t)word[i][l];
}

/* How many of the words that are drawn together follow word `first`, itself included; at most n. */
static size_t some_of(uint64_t first, size_t n)
{
    const size_t most = 4 * LANES - first % 4;

    return n < most ? n : most;
}

void ISA_NAME(random_words)(uint32_t *out, const tg_rng *rng, uint64_t first, size_t n)
{
    uint32_t words[4 * LANES];

    for (size_t i = 0, some; i < n; i += some) {
        some = some_of(first + i, n - i);
        draw(words, rng, (first + i) / 4);
        memcpy(out + i, words + (first + i) % 4, some * sizeof *out);
    }
}

void ISA_NAME(dropout_factors)(float *out, const tg_rng *rng, uint64_t first, size_t n, uint32_t threshold,
                               float kept)
{
    uint32_t words[4 * LANES];
    float factors[4 * LANES];

    for (size_t i = 0, some; i < n; i += some) {
        some = some_of(first + i, n - i);
        draw(words, rng, (first + i) / 4);
        for (size_t w = 0; w < 4 * LANES; w++)
            factors[w] = words[w] < threshold ? 0.0f : kept;
        memcpy(out + i, factors + (first + i) % 4, some * sizeof *out);
    }
}
