/*
 * parallel: encodes a text on several threads.
 *
 *     tg_parallel_create(&p, tok, special, take, context, &err)
 *     for each part of the text: tg_parallel_encode(p, part, n, &err)
 *     tg_parallel_finish(p, &err)
 *     tg_parallel_free(p)
 *
 * The ids are those of lib/tg/tokenizer.h, in order.  They depend neither on the number of threads,
 * (lib/base/threads.h) nor on how the text is cut into parts.  Threads share the part
 * of one call, so parts should be megabytes long; a small part is encoded at once by the caller's
 * thread.  Memory use is constant, whatever the text.
 *
 * A long part is cut where the kind of tokenizer allows it (kind.h); a text without such places is
 * encoded by one thread.
 */
#ifndef TG_TEXT_PARALLEL_H
#define TG_TEXT_PARALLEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

/* Approximate number of bytes that a thread takes at a time. */
#ifndef TG_PARALLEL_BLOCK
#define TG_PARALLEL_BLOCK (1 << 18)
#endif

typedef struct tg_parallel tg_parallel;

/*
 * Take n ids, which are valid until this function returns.  It is called from one thread at a time, not
 * always the same one, and only during tg_parallel_encode() and tg_parallel_finish().  A failure ends
 * that call, which returns it.
 */
typedef tg_status tg_parallel_take(void *context, const int32_t *ids, size_t n, tg_err *err);

/* Begin a text; *p is to be freed, and takes a reference to tok.  special: whether to look for special
 * tokens, as after tg_encoder_match_special().  TG_ENOMEM; *p is NULL after a failure. */
TG_MUST_CHECK tg_status tg_parallel_create(tg_parallel **p, const tg_tokenizer *tok, bool special,
                                           tg_parallel_take *take, void *context, tg_err *err);

/* Encode the next n bytes of the text.  Ids lag as the encoder's do.  TG_EDATA: the vocabulary
 * cannot express the text.  TG_ENOMEM, and what `take` returns.  After a failure only
 * tg_parallel_free() is legal. */
TG_MUST_CHECK tg_status tg_parallel_encode(tg_parallel *p, const void *text, size_t n, tg_err *err);

/* End the text and deliver the remaining ids.  *p is then ready for another text.  Fails likewise. */
TG_MUST_CHECK tg_status tg_parallel_finish(tg_parallel *p, tg_err *err);

/* NULL is fine. */
void tg_parallel_free(tg_parallel *p);

#endif
