#include "lib/tokens/windows.h"

#include <string.h>

#include "lib/base/size.h"

/* Tokens that a full batch needs: its inputs, and the last one's target. */
static size_t span(const tg_tokens_windows *w)
{
    return (w->B - 1) * w->stride + w->T + 1;
}

void tg_tokens_windows_place(tg_arena *arena, tg_tokens_windows *w, size_t T, size_t stride, size_t B)
{
    *w = (tg_tokens_windows){.T = T, .stride = stride, .B = B};
    w->kept = tg_arena_take(arena, span(w), sizeof *w->kept);
    w->mask = tg_arena_take(arena, span(w), sizeof *w->mask);
    w->inputs = tg_arena_take_rows(arena, B, T, sizeof *w->inputs);
    w->targets = tg_arena_take_rows(arena, B, T, sizeof *w->targets);
}

void tg_tokens_windows_begin(tg_tokens_windows *w, tg_tokens_stream *stream, int32_t prefix)
{
    w->stream = stream;
    w->prefix = prefix;
    w->n = 0;
    w->count = 0;
    w->seen = 0;
    w->begun = w->ended = false;
}

/* Put the prefix before the text. */
static tg_status begin_text(tg_tokens_windows *w, tg_err *err)
{
    bool masked = false;
    const tg_status status = w->by_document ? tg_tokens_stream_has_mask(w->stream, &masked, err) : TG_OK;

    if (status)
        return status;
    w->begun = true;
    w->prefix = masked ? -1 : w->prefix;
    w->kept[0] = w->prefix;
    w->mask[0] = TG_MASK_FIRST;
    w->n = w->count = w->prefix >= 0;
    return TG_OK;
}

static tg_status read_tokens(tg_tokens_windows *w, size_t want, size_t *got, tg_err *err)
{
    if (w->by_document)
        return tg_tokens_stream_next_document(w->stream, w->kept + w->n, w->mask + w->n, want, got, err);
    return tg_tokens_stream_next(w->stream, w->kept + w->n, want, got, err);
}

/* Read until a full batch is there, or the text ends. */
static tg_status fill(tg_tokens_windows *w, tg_err *err)
{
    tg_status status = w->begun ? TG_OK : begin_text(w, err);
    const size_t want = span(w) - w->n;
    size_t got = 0;

    if (status || w->ended || (status = read_tokens(w, want, &got, err)))
        return status;
    w->n += got;
    w->count += got;
    w->ended = got < want;
    return TG_OK;
}

/* B windows of T inputs, of which the last may be the last token. */
static void copy_windows(tg_tokens_windows *w, size_t B, size_t T)
{
    for (size_t b = 0; b < B; b++) {
        const int32_t *from = w->kept + b * w->stride;
        const bool last = b * w->stride + T == w->n;

        memcpy(w->inputs + b * T, from, T * sizeof *from);
        memcpy(w->targets + b * T, from + 1, (T - last) * sizeof *from);
        if (last)
            w->targets[b * T + T - 1] = -1;
        for (size_t t = 0; w->by_document && t < T - last; t++)
            if (w->mask[b * w->stride + t + 1] != TG_MASK_PREDICTED)
                w->targets[b * T + t] = TG_TOKENS_UNPREDICTED(w->targets[b * T + t]);
    }
}

tg_status tg_tokens_windows_next(tg_tokens_windows *w, tg_tokens_window_batch *batch, tg_err *err)
{
    const tg_status status = fill(w, err);
    size_t inputs, whole;

    *batch = (tg_tokens_window_batch){.inputs = w->inputs, .targets = w->targets, .stride = w->stride};
    if (status || w->n == 0)
        return status;
    inputs = w->n - (w->open_end && w->ended ? 0 : 1);
    whole = inputs >= w->T ? tg_size_min(w->B, (inputs - w->T) / w->stride + 1) : 0;
    batch->seen_first = w->seen;
    batch->seen = w->T - w->stride;
    if (whole > 0) {
        batch->B = whole;
        batch->T = w->T;
        copy_windows(w, whole, w->T);
        w->n -= whole * w->stride; /* what precedes the next window is forgotten */
        memmove(w->kept, w->kept + whole * w->stride, w->n * sizeof *w->kept);
        memmove(w->mask, w->mask + whole * w->stride, w->n * sizeof *w->mask);
        w->seen = batch->seen;
    } else if (inputs > w->seen) {
        batch->B = 1;
        batch->T = inputs;
        copy_windows(w, 1, inputs);
        w->n = 0;
    }
    return TG_OK;
}

tg_status tg_tokens_windows_check_any(const tg_tokens_windows *w, tg_err *err)
{
    if (w->count > 1)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s: a loss needs at least two, one to predict the other from",
                   w->count == 0 ? "no tokens" : "only one token");
}
