#include "lib/train/documents.h"

#include <stdbool.h>
#include <stdlib.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"

/* The tokens of a document from `at` on, its own first one included, at most n. */
static size_t left(const tg_tokens *tokens, size_t at, size_t n)
{
    size_t i = 1;

    n = tg_size_min(n, tokens->count - at);
    while (i < n && tokens->mask[at + i] != TG_MASK_FIRST)
        i++;
    return i;
}

/* How many of the n tokens from `at` on are predicted. */
static size_t predicted(const tg_tokens *tokens, size_t at, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += tokens->mask[at + i] == TG_MASK_PREDICTED;
    return sum;
}

tg_status tg_documents_init(tg_documents *d, const tg_tokens *tokens, size_t T, tg_err *err)
{
    size_t capacity = 0;
    tg_status status = TG_OK;

    *d = (tg_documents){.tokens = tokens, .T = T};
    for (size_t at = 0; !status && at < tokens->count;) {
        const size_t n = left(tokens, at, T + 1), targets = predicted(tokens, at + 1, n - 1);
        const bool goes_on = n == T + 1; /* its last token is the next window's first */
        const bool is_first = at == 0 || tokens->mask[at] == TG_MASK_FIRST;

        d->documents += is_first;
        d->cut += is_first && left(tokens, at, T + 2) > T + 1;
        d->predicted += targets;
        if (targets > 0 &&
            !(status = tg_grow(&d->begin, &capacity, d->n + 1, sizeof *d->begin, "the windows", err)))
            d->begin[d->n++] = at;
        at += goes_on ? T : n;
    }
    if (!status && d->n == 0)
        status = tg_fail(err, TG_EDATA, "the loss mask marks no token of the text as predicted");
    if (status)
        tg_documents_free(d);
    return status;
}

void tg_documents_free(tg_documents *d)
{
    free(d->begin);
    *d = (tg_documents){0};
}

void tg_documents_get(const tg_documents *d, size_t window, int32_t *ids, int32_t *targets)
{
    const size_t at = d->begin[window], n = left(d->tokens, at, d->T + 1), inputs = tg_size_min(n, d->T);

    tg_tokens_get(d->tokens, ids, at, inputs);
    tg_tokens_get(d->tokens, targets, at + 1, n - 1);
    for (size_t t = inputs; t < d->T; t++)
        ids[t] = 0;
    for (size_t t = 0; t < d->T; t++)
        if (t + 1 >= n || d->tokens->mask[at + t + 1] != TG_MASK_PREDICTED)
            targets[t] = TG_NO_TARGET;
}

size_t tg_documents_targets(const tg_documents *d, size_t window)
{
    const size_t at = d->begin[window];

    return predicted(d->tokens, at + 1, left(d->tokens, at, d->T + 1) - 1);
}

size_t tg_documents_first(const tg_documents *d, size_t window)
{
    size_t at = d->begin[window];

    while (at > 0 && d->tokens->mask[at] != TG_MASK_FIRST)
        at--;
    while (window > 0 && d->begin[window - 1] >= at)
        window--;
    return window;
}
