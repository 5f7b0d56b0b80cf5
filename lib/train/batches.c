#include "lib/train/batches.h"

#include <assert.h>

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

/* ---- texts with a loss mask */

static tg_status init_documents(tg_batches *b, tg_held_out held_out, tg_err *err)
{
    tg_status status;

    if (!held_out.text && held_out.fraction > 0 && held_out.blocks > 1)
        return tg_fail(
            err, TG_EDATA,
            "of a text with a loss mask whole documents at the end are held out, not the ends of %zu blocks",
            held_out.blocks);
    if ((status = tg_documents_init(&b->documents, b->tokens, b->T, b->packed,
                                    held_out.text ? 0 : held_out.fraction, err)))
        return status;
    b->val_windows = b->documents.held_out;
    b->windows = b->documents.n - b->val_windows;
    if (b->val_windows > 0) {
        b->train_tokens = tg_documents_begin(&b->documents, b->windows);
        b->val_tokens = b->tokens->count - b->train_tokens;
    }
    return TG_OK;
}

/* A separate text. */
static tg_status init_val(tg_batches *b, const tg_tokens *text, tg_err *err)
{
    tg_status status;

    b->val = text;
    b->val_tokens = text->count;
    if (text->mask) {
        status = tg_documents_init(&b->val_documents, text, b->T, b->packed, 0, err);
        b->val_windows = b->val_documents.n;
        return status;
    }
    if ((status = check_length("validation text", text->count, b->T, err)))
        return status;
    b->val_windows = (b->val_tokens - 1) / b->T;
    return TG_OK;
}

/* The windows to train on: one fewer of a block than would fit, which leaves slack for the shift. */
static size_t count_windows(const tg_batches *b)
{
    const size_t windows = (block_train(b) - 1) / b->T;

    return b->blocks * (windows > 1 ? windows - 1 : windows);
}

static tg_status init_windows(tg_batches *b, tg_held_out held_out, tg_err *err)
{
    const tg_status status = check_length("text", b->tokens->count, b->T, err);

    if (status)
        return status;
    if (!held_out.text)
        hold_out(b, held_out.fraction, held_out.blocks);
    b->windows = count_windows(b);
    return TG_OK;
}

tg_status tg_batches_init(tg_batches *b, const tg_tokens *tokens, uint64_t seed, size_t T, bool packed,
                          tg_held_out held_out, tg_err *err)
{
    tg_status status;

    *b = (tg_batches){.tokens = tokens, .val = tokens, .seed = seed, .T = T, .packed = packed};
    b->blocks = 1;
    b->block = b->train_tokens = tokens->count;
    status = tokens->mask ? init_documents(b, held_out, err) : init_windows(b, held_out, err);
    if (!status && held_out.text)
        status = init_val(b, held_out.text, err);
    if (status)
        tg_batches_free(b);
    return status;
}

tg_batches tg_batches_shorter(const tg_batches *b, size_t T)
{
    tg_batches shorter = *b;

    assert(b->documents.n == 0 && T <= b->T);
    shorter.T = T;
    shorter.windows = count_windows(&shorter);
    return shorter;
}

void tg_batches_free(tg_batches *b)
{
    tg_documents_free(&b->documents);
    tg_documents_free(&b->val_documents);
    *b = (tg_batches){0};
}

/* ---- windows */

/* Number i of some windows. */
static tg_windows window_of(const tg_windows *w, size_t i, size_t T)
{
    return (tg_windows){w->ids + i * T, w->targets + i * T, w->positions ? w->positions + i * T : NULL};
}

/* The window of a text that begins at token `at`. */
static void window(const tg_batches *b, const tg_tokens *of, const tg_windows *to, size_t at)
{
    tg_tokens_get(of, to->ids, at, b->T);
    tg_tokens_get(of, to->targets, at + 1, b->T);
    for (size_t t = 0; to->positions && t < b->T; t++)
        to->positions[t] = (int32_t)t;
}

/* What is random in the epoch of a training window; *place: where the window is. */
static tg_rng shuffle(const tg_batches *b, uint64_t number, size_t *place)
{
    const tg_rng rng = {.seed = b->seed, .purpose = TG_RNG_SHUFFLE, .step = number / b->windows};

    *place = (size_t)tg_rng_permute(&rng, b->windows, number % b->windows);
    return rng;
}

static void train_window(const tg_batches *b, const tg_windows *to, uint64_t number)
{
    const size_t T = b->T, windows = b->windows / b->blocks, slack = block_train(b) - 1 - windows * T;
    size_t place, block, shift;
    const tg_rng rng = shuffle(b, number, &place);

    block = place / windows;
    shift = (size_t)tg_rng_below(&rng, block, slack + 1);
    window(b, b->tokens, to, block * b->block + shift + place % windows * T);
}

static void train_document(const tg_batches *b, const tg_windows *to, uint64_t number)
{
    size_t place;

    (void)shuffle(b, number, &place);
    tg_documents_get(&b->documents, place, to);
}

void tg_batches_train(const tg_batches *b, const tg_windows *to, uint64_t first, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const tg_windows one = window_of(to, i, b->T);

        (b->documents.n > 0 ? train_document : train_window)(b, &one, first + i);
    }
}

size_t tg_batches_train_targets(const tg_batches *b, uint64_t first, size_t n)
{
    size_t place, sum = 0;

    if (b->documents.n == 0)
        return n * b->T;
    for (size_t i = 0; i < n; i++) {
        (void)shuffle(b, first + i, &place);
        sum += tg_documents_targets(&b->documents, place);
    }
    return sum;
}

/* The documents that are held out, and the window of theirs for validation window `place`; NULL: text without
 * a mask is held out. */
static const tg_documents *val_documents(const tg_batches *b, size_t *place)
{
    if (b->val_documents.n > 0)
        return &b->val_documents;
    if (b->val != b->tokens || b->documents.n == 0)
        return NULL;
    *place += b->windows;
    return &b->documents;
}

/* Where what is held out begins in b->val. */
static size_t val_begin(const tg_batches *b)
{
    return b->val != b->tokens || b->val_tokens == 0 ? 0 : block_train(b);
}

void tg_batches_val(const tg_batches *b, const tg_windows *to, size_t first, size_t n, size_t of)
{
    const size_t T = b->T, windows = b->val_windows / b->blocks;

    for (size_t i = 0; i < n; i++) {
        const tg_windows one = window_of(to, i, T);
        size_t place = (first + i) * b->val_windows / of;
        const size_t at = place / windows * b->block + val_begin(b) + place % windows * T;
        const tg_documents *documents = val_documents(b, &place);

        if (documents)
            tg_documents_get(documents, place, &one);
        else
            window(b, b->val, &one, at);
    }
}

size_t tg_batches_val_targets(const tg_batches *b, size_t first, size_t n, size_t of)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        size_t place = (first + i) * b->val_windows / of;
        const tg_documents *documents = val_documents(b, &place);

        sum += documents ? tg_documents_targets(documents, place) : b->T;
    }
    return sum;
}

size_t tg_batches_probe(const tg_batches *b, int32_t *ids, size_t n)
{
    const size_t at = val_begin(b), end = b->blocks > 1 ? b->block : b->val->count;

    n = tg_size_min(n, end - at);
    tg_tokens_get(b->val, ids, at, n);
    return n;
}
