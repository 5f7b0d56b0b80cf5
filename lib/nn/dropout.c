#include "lib/nn/dropout.h"

#include "lib/base/threads.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)4096) /* elements that a thread takes at a time; a multiple of 4 */
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

struct elements {
    float *x;
    const tg_dropout *drop;
};

static void apply(void *context, size_t begin, size_t end)
{
    const struct elements *e = context;
    float factors[CHUNK];

    tg_dropout_factors(factors, e->drop, begin, end - begin);
    for (size_t i = begin; i < end; i++)
        e->x[i] *= factors[i - begin];
}

void tg_dropout_apply(float *x, const tg_dropout *drop, size_t n)
{
    if (drop->p > 0)
        tg_threads_run(n, CHUNK, apply, &(struct elements){x, drop});
}
