#include "lib/nn/dropout.h"

#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)4096) /* elements that a thread takes at a time */
#endif

void tg_dropout_factors(float *factors, const tg_dropout *drop, uint64_t first, size_t n)
{
    const uint32_t threshold = (uint32_t)((double)drop->p * 4294967296.0);
    const float kept = 1.0f / (1.0f - drop->p);

    tg_kernels_get()->dropout_factors(factors, &drop->rng, first, n, threshold, kept);
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
