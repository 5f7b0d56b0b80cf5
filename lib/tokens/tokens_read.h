/*
 * tokens_read: reads token archives chunk by chunk; memory: one chunk.
 */
#ifndef TG_TOKENS_TOKENS_READ_H
#define TG_TOKENS_TOKENS_READ_H

#include <stddef.h>

#include "formats/source.h"
#include "lib/base/status.h"
#include "lib/text/chat_note.h"
#include "lib/text/tokenizer.h"

typedef struct tg_tokens_reader tg_tokens_reader;

/*
 * Read one token archive or several in a row, all of one tokenizer, from a source that the
 * caller has opened and may have peeked at.  The reader takes ownership of the source; a
 * failure closes it.  TG_EDATA: not a token archive; the message says what it is.
 * TG_EIO, TG_ENOMEM.  *r is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_tokens_open_source(tg_tokens_reader **r, tg_source *source, tg_err *err);

/* The tokenizer, which the reader owns; NULL before the first successful tg_tokens_next(). */
const tg_tokenizer *tg_tokens_tokenizer(const tg_tokens_reader *r);

/* The template of conversations that the archive of the last chunk notes; after tg_tokens_next(). */
tg_chat_note tg_tokens_chat(const tg_tokens_reader *r);

/*
 * The next chunk: *ids points to *n ids of tg_ids_width() bytes each, valid until the next call;
 * *n = 0 at the end of the input.  TG_EDATA: an id outside the vocabulary, with its chunk and
 * position; an archive of another tokenizer; a damaged one.  TG_EIO, TG_ENOMEM.  After a failure
 * only tg_tokens_close() is legal.
 */
TG_MUST_CHECK tg_status tg_tokens_next(tg_tokens_reader *r, const void **ids, size_t *n, tg_err *err);

/* The loss mask of that chunk (lib/tg/tokens.h), [*n], valid as long; NULL: it has none. */
const unsigned char *tg_tokens_mask(const tg_tokens_reader *r);

/* NULL is fine. */
void tg_tokens_close(tg_tokens_reader *r);

#endif
