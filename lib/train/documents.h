/*
 * documents: the windows of a text with a loss mask (lib/tg/tokens.h).
 *
 * A document is cut into pieces of at most T + 1 tokens: all but the last are inputs, all but the first
 * targets, and the next piece's inputs begin where the last one's end.  Pieces without a target that is
 * predicted are left out.  A window has T inputs: a piece, or, packed, as many pieces in order as there is
 * room for.  What is missing at its end is padding: inputs 0, each a document of its own, which change
 * nothing.
 */
#ifndef TG_TRAIN_DOCUMENTS_H
#define TG_TRAIN_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/tokens/tokens.h"

/* A target that is none: its loss is 0. */
#define TG_NO_TARGET (-1)

/* Windows [n,T] of a text: their inputs; the targets, TG_NO_TARGET where none is predicted; and the positions
 * of the inputs, each in its own document, or NULL, if they are not wanted. */
typedef struct tg_windows {
    int32_t *ids, *targets, *positions;
} tg_windows;

typedef struct tg_documents {
    const tg_tokens *tokens; /* the caller's */
    size_t T;
    size_t *begin; /* [pieces] each piece's first input, ascending; owned */
    size_t *piece; /* [n + 1] each window's first piece; owned */
    size_t pieces, n;
    size_t held_out;       /* windows at the end, of whole documents, which share none with those before */
    size_t documents, cut; /* in the text; those of them that are longer than a window */
    size_t predicted;      /* tokens */
} tg_documents;

/* Of a text with a mask, which must outlive *d; packed or not.  About that fraction of its pieces, at the
 * end, are held out, unless it is less than a document, or all.  TG_EDATA: no token is predicted.  TG_ENOMEM.
 * After a failure *d needs no free. */
TG_MUST_CHECK tg_status tg_documents_init(tg_documents *d, const tg_tokens *tokens, size_t T, bool packed,
                                          double fraction, tg_err *err);

/* Free what it owns and zero it.  A zeroed one is fine. */
void tg_documents_free(tg_documents *d);

/* Copy a window into *to [1,T]. */
void tg_documents_get(const tg_documents *d, size_t window, const tg_windows *to);

/* How many targets of a window are predicted: at least one. */
size_t tg_documents_targets(const tg_documents *d, size_t window);

/* A window's first token. */
size_t tg_documents_begin(const tg_documents *d, size_t window);

#endif
