#include "lib/train/batches.h"

#include "lib/base/rng.h"
#include "lib/base/size.h"

/* A text's windows.  what: "text" */
static tg_status check_length(const char *what, size_t n, size_t T, tg_err *err)
{
    if (n < 2)
        return tg_fail(err, TG_EDATA, "the %s has %zu token%s, a window of context %zu needs %zu", what, n,
                       n == 1 ? "" : "s", T, T + 1);
    if (n < T + 1)
        return tg_fail(err, TG_EDATA,
                       "the %s has %zu tokens, a window of context %zu needs %zu: give more text, or a "
                       "--context of at most %zu",
                       what, n, T, T + 1, n - 1);
    return TG_OK;
}

/* The tokens of a block's part for training, at its beginning. */
static size_t block_train(const tg_batches *b)
{
    return b->train_tokens / b->blocks;
}

/* Divide the text into blocks, and hold out the end of each, if all parts then have a window. */
static void hold_out(tg_batches *b, double fraction, size_t blocks)
{
    const size_t n = b->tokens->count, block = n / blocks, val = (size_t)((double)block * fraction);

    if (val < b->T + 1 || block - val < b->T + 1)
        return;
    b->blocks = blocks;
    b->block = block;
    b->train_tokens = blocks * (block - val);
    b->val_tokens = n - b->train_tokens;
    b->val_windows = blocks * ((val - 1) / b->T);
}

tg_status tg_batches_init(tg_batches *b, const tg_tokens *tokens, uint64_t seed, size_t T,
                          tg_held_out held_out, tg_err *err)
{
    const size_t n = tokens->count;
    tg_status status;
    size_t windows; /* of a block */

    *b = (tg_batches){.tokens = tokens, .val = tokens, .seed = seed, .T = T};
    b->blocks = 1;
    b->block = b->train_tokens = n;
    if ((status = check_length("text", n, T, err)))
        return status;
    if (!held_out.text) {
        hold_out(b, held_out.fraction, held_out.blocks);
    } else if ((status = check_length("validation text", held_out.text->count, T, err))) {
        return status;
    } else {
        b->val = held_out.text;
        b->val_tokens = b->val->count;
        b->val_windows = (b->val_tokens - 1) / T;
    }
    /* one window fewer than would fit, which leaves slack for the shift */
    windows = (block_train(b) - 1) / T;
    b->windows = b->blocks * (windows > 1 ? windows - 1 : windows);
    return TG_OK;
}

/* The window of a text that begins at token `at`. */
static void window(const tg_batches *b, const tg_tokens *of, int32_t *ids, int32_t *targets, size_t at)
{
    tg_tokens_get(of, ids, at, b->T);
    tg_tokens_get(of, targets, at + 1, b->T);
}

void tg_batches_train(const tg_batches *b, int32_t *ids, int32_t *targets, uint64_t first, size_t n)
{
    const size_t T = b->T, windows = b->windows / b->blocks, slack = block_train(b) - 1 - windows * T;

    for (size_t i = 0; i < n; i++) {
        const tg_rng rng = {
            .seed = b->seed, .purpose = TG_RNG_SHUFFLE, .step = (first + i) / b->windows, /* the epoch */
        };
        const size_t place = (size_t)tg_rng_permute(&rng, b->windows, (first + i) % b->windows);
        const size_t block = place / windows;
        const size_t shift = (size_t)tg_rng_below(&rng, block, slack + 1);

        window(b, b->tokens, ids + i * T, targets + i * T, block * b->block + shift + place % windows * T);
    }
}

/* Where what is held out begins in b->val. */
static size_t val_begin(const tg_batches *b)
{
    return b->val != b->tokens || b->val_tokens == 0 ? 0 : block_train(b);
}

void tg_batches_val(const tg_batches *b, int32_t *ids, int32_t *targets, size_t first, size_t n, size_t of)
{
    const size_t T = b->T, windows = b->val_windows / b->blocks;

    for (size_t i = 0; i < n; i++) {
        const size_t place = (first + i) * b->val_windows / of;
        const size_t at = place / windows * b->block + val_begin(b) + place % windows * T;

        window(b, b->val, ids + i * T, targets + i * T, at);
    }
}

size_t tg_batches_probe(const tg_batches *b, int32_t *ids, size_t n)
{
    const size_t at = val_begin(b), end = b->blocks > 1 ? b->block : b->val->count;

    n = tg_size_min(n, end - at);
    tg_tokens_get(b->val, ids, at, n);
    return n;
}
