/*
 * tokens_write: writes a token archive as ids arrive; memory: one chunk.
 *
 * The archive does not depend on how the ids are divided among the calls.  A text with too many
 * chunks for one archive becomes several in a row.
 */
#ifndef TG_TOKENS_TOKENS_WRITE_H
#define TG_TOKENS_TOKENS_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/text/chat_note.h"
#include "lib/text/tokenizer.h"

TG_API_BEGIN

typedef struct tg_tokens_writer tg_tokens_writer;

/* Begin an archive on fd, which the caller closes; the writer takes a reference to tok.
 * TG_EIO, TG_ENOMEM; *w is NULL after a failure. */
TG_MUST_CHECK tg_status tg_tokens_create(tg_tokens_writer **w, int fd, const tg_tokenizer *tok, tg_err *err);

/*
 * Append n ids; full chunks are written out.  TG_EUSAGE: an id is outside the vocabulary; the
 * message has its position among all ids written.  TG_EIO, TG_ENOMEM.  After a failure only
 * tg_tokens_abandon() is legal.
 */
TG_MUST_CHECK tg_status tg_tokens_write(tg_tokens_writer *w, const int32_t *ids, size_t n, tg_err *err);

/* The same for ids of tg_ids_width() bytes each, which are written unchecked, to an archive without a mask.
 */
TG_MUST_CHECK tg_status tg_tokens_write_packed(tg_tokens_writer *w, const void *ids, size_t n, tg_err *err);

/* Give the archive a loss mask (lib/tokens/mask.h): call before any ids.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_tokens_begin_mask(tg_tokens_writer *w, tg_err *err);

/* Note the template of conversations that the text is made with: call before any ids, and once.  TG_EIO. */
TG_MUST_CHECK tg_status tg_tokens_note_chat(tg_tokens_writer *w, tg_chat_note chat, tg_err *err);

/* Append n ids of an archive with a mask, of which they all have this value.  Fails like tg_tokens_write(),
 * which appends predicted ones. */
TG_MUST_CHECK tg_status tg_tokens_write_masked(tg_tokens_writer *w, const int32_t *ids, size_t n, int mask,
                                               tg_err *err);

/* Write the last chunk and close the archive.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_tokens_finish(tg_tokens_writer *w, tg_err *err);

/* Free the writer, finished or not.  NULL is fine. */
void tg_tokens_abandon(tg_tokens_writer *w);

TG_API_END

#endif
