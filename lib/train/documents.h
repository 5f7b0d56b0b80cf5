/*
 * documents: the windows of a text with a loss mask (lib/tokens/mask.h).
 *
 * A document is cut into windows of T + 1 tokens: the first T are the inputs, the last T the targets, and the
 * next window's inputs begin where the last one's end.  What is missing in a document's last window is
 * padding: input 0, which comes after all tokens and so changes nothing for them.  Windows without a target
 * that is predicted are left out.
 */
#ifndef TG_TRAIN_DOCUMENTS_H
#define TG_TRAIN_DOCUMENTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/tokens/tokens.h"

TG_API_BEGIN

/* A target that is none: its loss is 0. */
#define TG_NO_TARGET (-1)

typedef struct tg_documents {
    const tg_tokens *tokens; /* the caller's */
    size_t T;
    size_t *begin; /* [n] each window's first input, ascending; owned */
    size_t n;
    size_t documents, cut; /* in the text; those of them that are longer than a window */
    size_t predicted;      /* tokens */
} tg_documents;

/* Of a text with a mask, which must outlive *d.  TG_EDATA: no token is predicted.  TG_ENOMEM.  After a
 * failure *d needs no free. */
TG_MUST_CHECK tg_status tg_documents_init(tg_documents *d, const tg_tokens *tokens, size_t T, tg_err *err);

/* Free what it owns and zero it.  A zeroed one is fine. */
void tg_documents_free(tg_documents *d);

/* Copy a window into ids and targets [T], of which those that are not predicted are TG_NO_TARGET. */
void tg_documents_get(const tg_documents *d, size_t window, int32_t *ids, int32_t *targets);

/* How many targets of a window are predicted: at least one. */
size_t tg_documents_targets(const tg_documents *d, size_t window);

/* The first window of the document to which a window belongs. */
size_t tg_documents_first(const tg_documents *d, size_t window);

TG_API_END

#endif
