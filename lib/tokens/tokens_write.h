/*
 * tokens_write: what the library's callers need of a token archive's writer, besides what programs use
 * (lib/tg/tokens.h).
 */
#ifndef TG_TOKENS_TOKENS_WRITE_H
#define TG_TOKENS_TOKENS_WRITE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/chat_note.h"
#include "lib/text/tokenizer.h"
#include "lib/tg/tokens.h"

/* The same for ids of tg_ids_width() bytes each, which are written unchecked, to an archive without a mask.
 */
TG_MUST_CHECK tg_status tg_tokens_write_packed(tg_tokens_writer *w, const void *ids, size_t n, tg_err *err);

/* Note the template of conversations that the text is made with: call before any ids, and once.  TG_EIO. */
TG_MUST_CHECK tg_status tg_tokens_note_chat(tg_tokens_writer *w, tg_chat_note chat, tg_err *err);

#endif
