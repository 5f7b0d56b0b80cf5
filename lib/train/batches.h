/*
 * batches: windows of the token stream, as a pure function of (seed, step).
 *
 * What is held out for validation is the end of the text, or the end of each of several blocks
 * of equal length; or a separate text.  A window is T + 1 tokens: the first T are the inputs,
 * the last T the targets.  An epoch uses every window of the training part once, in random order.
 * Each window's inputs begin where the last one's end; where a block's first one begins is random
 * in each epoch.  No window reaches from what is trained on into what is held out, nor from block
 * to block.
 *
 * A text with a loss mask has the windows of its documents (lib/train/documents.h), and whole documents are
 * held out, at its end.
 */
#ifndef TG_TRAIN_BATCHES_H
#define TG_TRAIN_BATCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/tokens/tokens.h"
#include "lib/train/documents.h"

/* What a run validates on. */
typedef struct tg_held_out {
    double fraction;       /* of the text; 0: nothing */
    size_t blocks;         /* over which it is spread, >= 1; 1: the end of the text */
    const tg_tokens *text; /* instead: a separate text; NULL: none.  All of the first is trained on then */
} tg_held_out;

typedef struct tg_batches {
    const tg_tokens *tokens, *val; /* the same, unless a separate text is held out */
    uint64_t seed;
    size_t T;
    bool packed;          /* documents: several in a window */
    size_t blocks, block; /* how many, and their tokens; the last one also has what is left over */
    size_t train_tokens;  /* of all blocks, at the beginning of each */
    size_t val_tokens;    /* the rest, or the other text's; 0: no validation */
    size_t windows;       /* training windows per epoch, equally many in each block */
    size_t val_windows;   /* likewise */
    tg_documents documents, val_documents; /* of texts with a mask; otherwise zeroed.  Held out of the first
                                              ones are the last val_windows */
} tg_batches;

/*
 * Split tokens, which must outlive *b, into windows of T + 1; packed: short documents of a text with a loss
 * mask share windows.  When a block's part for training or for validation would be shorter than a window,
 * val_tokens is 0 and the whole text is for training. TG_EDATA, with the numbers: the text, or the text that
 * is held out, is shorter than a window; of one with a loss mask, nothing is predicted, or several blocks are
 * to be held out.  TG_ENOMEM: for a text with a mask. After a failure *b needs no free.
 */
TG_MUST_CHECK tg_status tg_batches_init(tg_batches *b, const tg_tokens *tokens, uint64_t seed, size_t T,
                                        bool packed, tg_held_out held_out, tg_err *err);

/* The same text, which has no loss mask, with shorter windows to train on, of T + 1 <= b->T + 1 tokens; those
 * to validate on are b's.  The result owns nothing, and is not freed. */
tg_batches tg_batches_shorter(const tg_batches *b, size_t T);

/* Free what it owns, of texts with a mask, and zero it. */
void tg_batches_free(tg_batches *b);

/* Training windows first .. first + n - 1, numbered from the beginning of the run across epochs, into
 * *to [n,T].  Without a loss mask a window is a document. */
void tg_batches_train(const tg_batches *b, const tg_windows *to, uint64_t first, size_t n);

/* `of` <= val_windows windows are spread evenly over what is held out: copy windows first .. first + n - 1 of
 * these into *to [n,T]. */
void tg_batches_val(const tg_batches *b, const tg_windows *to, size_t first, size_t n, size_t of);

/* How many tokens these windows predict: n * T without a mask. */
size_t tg_batches_train_targets(const tg_batches *b, uint64_t first, size_t n);
size_t tg_batches_val_targets(const tg_batches *b, size_t first, size_t n, size_t of);

/* Copy the first tokens, at most n, that are held out together into ids, or of the text when there
 * is no validation.  Returns their number. */
size_t tg_batches_probe(const tg_batches *b, int32_t *ids, size_t n);

#endif
