/*
 * windows: a text of any length, cut into windows that fit a model's context.
 *
 * Window k has the tokens from k * stride on as its inputs, up to T of them.  The target of an input is
 * the token after it.  If stride < T, windows overlap: the inputs of a window that an earlier window had
 * come first, and their targets count only there.  So every target counts once, and, except in the first
 * window, is predicted from at least T - stride + 1 tokens.
 *
 *     tg_tokens_windows_place(arena, &w, T, stride, B)
 *     tg_tokens_windows_begin(&w, stream, -1)
 *     do tg_tokens_windows_next(&w, &batch, &err), use the batch, while batch.B > 0
 */
#ifndef TG_TOKENS_WINDOWS_H
#define TG_TOKENS_WINDOWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/tokens/stream.h"

/* Tokens of a window where no number is asked for: the model's context, but no more than this, because memory
 * grows with it, and time in each layer with its square. */
#define TG_TOKENS_WINDOW ((size_t)4096)

/* A target that is not predicted, and its id again.  -1 is no target at all. */
#define TG_TOKENS_UNPREDICTED(id) (-2 - (id))

typedef struct tg_tokens_windows {
    size_t T, stride, B; /* B: max windows of a batch */
    bool open_end;       /* the caller may set it: the last token is an input as well, with target -1 */
    bool by_document; /* likewise: of a stream with a loss mask each document is a text, and a target that is
                         not predicted is TG_TOKENS_UNPREDICTED(id) */
    tg_tokens_stream *stream;
    int32_t *kept;             /* [n] the tokens from the next window's first input on */
    unsigned char *mask;       /* [n] theirs, if by_document */
    int32_t *inputs, *targets; /* [B,T] */
    size_t n, seen;            /* seen: of them, the inputs that earlier windows had */
    uint64_t count;            /* tokens read, a prefix included */
    int32_t prefix;            /* the token before the text; -1: none, or a document has its own */
    bool begun;                /* some of the text has been read */
    bool ended;                /* the stream has no more */
} tg_tokens_windows;

/* B windows of T inputs each.  All but the stream's last window have n_ctx inputs, if T is n_ctx. */
typedef struct tg_tokens_window_batch {
    size_t B, T;
    const int32_t *inputs, *targets; /* [B,T] */
    size_t stride;                   /* from one window's first input to the next one's */
    size_t seen_first, seen;         /* inputs that earlier windows had: of the first window, of each other */
} tg_tokens_window_batch;

/* Place the buffers (see arena.h) for batches of B >= 1 windows of T tokens; stride is in [1, T]. */
void tg_tokens_windows_place(tg_arena *arena, tg_tokens_windows *w, size_t T, size_t stride, size_t B);

/* Begin with a stream, which the caller opens and closes; before its tokens comes `prefix`, a token that
 * is no target, unless that is -1, or documents have their own (by_document). */
void tg_tokens_windows_begin(tg_tokens_windows *w, tg_tokens_stream *stream, int32_t prefix);

/* The next batch, valid until the next call; B = 0: there are no more inputs that have a target.  Fails
 * like tg_tokens_stream_next(). */
TG_MUST_CHECK tg_status tg_tokens_windows_next(tg_tokens_windows *w, tg_tokens_window_batch *batch,
                                               tg_err *err);

/* At the end of the stream, check that it had a target.  TG_EDATA. */
TG_MUST_CHECK tg_status tg_tokens_windows_check_any(const tg_tokens_windows *w, tg_err *err);

#endif
