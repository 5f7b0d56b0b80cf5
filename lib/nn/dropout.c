#include "lib/nn/dropout.h"

#include "lib/base/size.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)4096) /* elements per thread at a time; a multiple of 4 */
#endif

void tg_dropout_factors(float *factors, const tg_dropout *drop, uint64_t first, size_t n)
{
    const uint32_t threshold = (uint32_t)((double)drop->p * 4294967296.0);
    const float kept = 1.0f / (1.0f - drop->p);
    uint32_t words[4];

    for (size_t i = 0; i < n; i++) {
        uint64_t element = first + i;

        /* the generator makes four words at a time */
        if (i == 0 || element % 4 == 0)
            tg_rng_block(words, &drop->rng, element / 4);
        factors[i] = words[element % 4] < threshold ? 0.0f : kept;
    }
}

void tg_dropout_apply(float *x, const tg_dropout *drop, size_t n)
{
    if (drop->p == 0)
        return;
    #pragma omp parallel for schedule(static) if (n > 2 * CHUNK)
    for (size_t at = 0; at < n; at += CHUNK) {
        float factors[CHUNK];
        size_t len = tg_size_min(CHUNK, n - at);

        tg_dropout_factors(factors, drop, at, len);
        for (size_t i = 0; i < len; i++)
            x[at + i] *= factors[i];
    }
}
