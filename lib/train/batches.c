#include "lib/train/batches.h"

#include "lib/base/rng.h"
#include "lib/base/size.h"

tg_status tg_batches_init(tg_batches *b, const tg_tokens *tokens, uint64_t seed, size_t T,
                          double val_fraction, tg_err *err)
{
    const size_t n = tokens->count;

    *b = (tg_batches){.tokens = tokens, .seed = seed, .T = T};
    if (n < 2)
        return tg_fail(err, TG_EDATA, "the text has %zu token%s, a window of context %zu needs %zu", n,
                       n == 1 ? "" : "s", T, T + 1);
    if (n < T + 1)
        return tg_fail(err, TG_EDATA,
                       "the text has %zu tokens, a window of context %zu needs %zu: give more text, or a "
                       "--context of at most %zu",
                       n, T, T + 1, n - 1);
    b->val_tokens = (size_t)((double)n * val_fraction);
    if (b->val_tokens < T + 1 || n - b->val_tokens < T + 1)
        b->val_tokens = 0;
    b->train_tokens = n - b->val_tokens;
    b->val_windows = b->val_tokens > 0 ? (b->val_tokens - 1) / T : 0;
    /* one window fewer than would fit, which leaves slack for the shift */
    b->windows = (b->train_tokens - 1) / T;
    if (b->windows > 1)
        b->windows--;
    return TG_OK;
}

/* The window that begins at token `at`. */
static void window(const tg_batches *b, int32_t *ids, int32_t *targets, size_t at)
{
    tg_tokens_get(b->tokens, ids, at, b->T);
    tg_tokens_get(b->tokens, targets, at + 1, b->T);
}

void tg_batches_train(const tg_batches *b, int32_t *ids, int32_t *targets, uint64_t first, size_t n)
{
    const size_t T = b->T, slack = b->train_tokens - 1 - b->windows * T;

    for (size_t i = 0; i < n; i++) {
        const tg_rng rng = {
            .seed = b->seed, .purpose = TG_RNG_SHUFFLE, .step = (first + i) / b->windows, /* the epoch */
        };
        size_t shift = (size_t)tg_rng_below(&rng, 0, slack + 1);
        size_t place = (size_t)tg_rng_permute(&rng, b->windows, (first + i) % b->windows);

        window(b, ids + i * T, targets + i * T, shift + place * T);
    }
}

void tg_batches_val(const tg_batches *b, int32_t *ids, int32_t *targets, size_t first, size_t n, size_t of)
{
    for (size_t i = 0; i < n; i++) {
        size_t place = (first + i) * b->val_windows / of;

        window(b, ids + i * b->T, targets + i * b->T, b->train_tokens + place * b->T);
    }
}

size_t tg_batches_probe(const tg_batches *b, int32_t *ids, size_t n)
{
    const size_t at = b->val_tokens > 0 ? b->train_tokens : 0;

    n = tg_size_min(n, b->tokens->count - at);
    tg_tokens_get(b->tokens, ids, at, n);
    return n;
}
