/*
 * batches: windows of the token stream, as a pure function of (seed, step).
 *
 * The end of the text is for validation.  A window is T + 1 tokens: the first T are the
 * inputs, the last T the targets.  An epoch uses every window of the training part once, in
 * random order.  Each window's inputs begin where the last one's end; where the first begins
 * is random in each epoch.
 */
#ifndef TG_TRAIN_BATCHES_H
#define TG_TRAIN_BATCHES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/text/tokens.h"

TG_API_BEGIN

typedef struct tg_batches {
    const tg_tokens *tokens;
    uint64_t seed;
    size_t T;
    size_t train_tokens; /* at the beginning */
    size_t val_tokens;   /* the rest; 0: no validation */
    size_t windows;      /* training windows per epoch */
    size_t val_windows;
} tg_batches;

/*
 * Split tokens, which must outlive *b, into windows of T + 1.  When either part would be
 * shorter than a window, val_tokens is 0 and the whole text is for training.  TG_EDATA, with
 * the numbers: the text is shorter than a window.
 */
TG_MUST_CHECK tg_status tg_batches_init(tg_batches *b, const tg_tokens *tokens, uint64_t seed, size_t T,
                                        double val_fraction, tg_err *err);

/* Training windows first .. first + n - 1, numbered from the beginning of the run across
 * epochs, into ids and targets [n,T]. */
void tg_batches_train(const tg_batches *b, int32_t *ids, int32_t *targets, uint64_t first, size_t n);

/* `of` <= val_windows windows are spread evenly over the validation part: copy windows
 * first .. first + n - 1 of these into ids and targets [n,T]. */
void tg_batches_val(const tg_batches *b, int32_t *ids, int32_t *targets, size_t first, size_t n, size_t of);

/* Copy the first tokens, at most n, of the validation part into ids, or of the text when there
 * is no validation.  Returns their number. */
size_t tg_batches_probe(const tg_batches *b, int32_t *ids, size_t n);

TG_API_END

#endif
