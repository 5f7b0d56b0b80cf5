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

/* List the pieces, and count the documents. */
static tg_status find_pieces(tg_documents *d, tg_err *err)
{
    const tg_tokens *tokens = d->tokens;
    const size_t T = d->T;
    size_t capacity = 0;
    tg_status status = TG_OK;

    for (size_t at = 0; !status && at < tokens->count;) {
        const size_t n = left(tokens, at, T + 1), targets = predicted(tokens, at + 1, n - 1);
        const bool goes_on = n == T + 1; /* its last token is the next piece's first */
        const bool is_first = at == 0 || tokens->mask[at] == TG_MASK_FIRST;

        d->documents += is_first;
        d->cut += is_first && left(tokens, at, T + 2) > T + 1;
        d->predicted += targets;
        if (targets > 0 &&
            !(status = tg_grow(&d->begin, &capacity, d->pieces + 1, sizeof *d->begin, "the windows", err)))
            d->begin[d->pieces++] = at;
        at += goes_on ? T : n;
    }
    if (!status && d->pieces == 0)
        status = tg_fail(err, TG_EDATA, "the loss mask marks no token of the text as predicted");
    return status;
}

/* The inputs of a piece. */
static size_t inputs_of(const tg_documents *d, size_t piece)
{
    return left(d->tokens, d->begin[piece], d->T + 1) - 1;
}

/* The first piece of those that are held out, which begins a document; d->pieces: nothing is. */
static size_t first_held_out(const tg_documents *d, double fraction)
{
    const size_t n = (size_t)((double)d->pieces * fraction);
    size_t piece = d->pieces - n, at;

    if (n == 0)
        return d->pieces;
    at = d->begin[piece];
    while (at > 0 && d->tokens->mask[at] != TG_MASK_FIRST)
        at--; /* that piece may have been left out */
    while (piece > 0 && d->begin[piece - 1] >= at)
        piece--;
    return piece > 0 ? piece : d->pieces;
}

/* Divide the pieces into windows. */
static tg_status find_windows(tg_documents *d, bool packed, double fraction, tg_err *err)
{
    const size_t held_out = first_held_out(d, fraction);
    size_t room = 0;

    if (!(d->piece = calloc(d->pieces + 1, sizeof *d->piece)))
        return tg_fail_memory(err, (d->pieces + 1) * sizeof *d->piece, "the windows");
    for (size_t i = 0; i < d->pieces; i++) {
        const size_t inputs = inputs_of(d, i);

        if (!packed || inputs > room || i == held_out) {
            d->held_out += i >= held_out;
            d->piece[d->n++] = i;
            room = d->T;
        }
        room -= inputs;
    }
    d->piece[d->n] = d->pieces;
    return TG_OK;
}

tg_status tg_documents_init(tg_documents *d, const tg_tokens *tokens, size_t T, bool packed, double fraction,
                            tg_err *err)
{
    tg_status status;

    *d = (tg_documents){.tokens = tokens, .T = T};
    if ((status = find_pieces(d, err)) || (status = find_windows(d, packed, fraction, err)))
        tg_documents_free(d);
    return status;
}

void tg_documents_free(tg_documents *d)
{
    free(d->begin);
    free(d->piece);
    *d = (tg_documents){0};
}

/* Copy a piece of n inputs to those from t on. */
static void get_piece(const tg_documents *d, size_t at, size_t n, const tg_windows *to, size_t t)
{
    tg_tokens_get(d->tokens, to->ids + t, at, n);
    tg_tokens_get(d->tokens, to->targets + t, at + 1, n);
    for (size_t k = 0; k < n; k++) {
        if (d->tokens->mask[at + k + 1] != TG_MASK_PREDICTED)
            to->targets[t + k] = TG_NO_TARGET;
        if (to->positions)
            to->positions[t + k] = (int32_t)k;
    }
}

void tg_documents_get(const tg_documents *d, size_t window, const tg_windows *to)
{
    size_t t = 0;

    for (size_t i = d->piece[window]; i < d->piece[window + 1]; i++) {
        const size_t n = inputs_of(d, i);

        get_piece(d, d->begin[i], n, to, t);
        t += n;
    }
    for (; t < d->T; t++) {
        to->ids[t] = 0;
        to->targets[t] = TG_NO_TARGET;
        if (to->positions)
            to->positions[t] = 0;
    }
}

size_t tg_documents_targets(const tg_documents *d, size_t window)
{
    size_t sum = 0;

    for (size_t i = d->piece[window]; i < d->piece[window + 1]; i++)
        sum += predicted(d->tokens, d->begin[i] + 1, inputs_of(d, i));
    return sum;
}

size_t tg_documents_begin(const tg_documents *d, size_t window)
{
    return d->begin[d->piece[window]];
}
