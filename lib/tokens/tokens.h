/*
 * tokens: all tokens of a text in memory.
 */
#ifndef TG_TOKENS_TOKENS_H
#define TG_TOKENS_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/source.h"
#include "lib/base/status.h"
#include "lib/text/chat_note.h"
#include "lib/text/tokenizer.h"
#include "lib/tg/tokens.h"

typedef struct tg_tokens {
    const tg_tokenizer *tokenizer; /* NULL until tokens have been loaded; owned */
    size_t count;
    size_t width;        /* bytes of an id, as in lib/text/ids.h */
    unsigned char *data; /* count * width bytes; owned */
    unsigned char *mask; /* [count] (lib/tg/tokens.h); NULL: there is none; owned */
    tg_chat_note chat;   /* of all archives; 0 also if they differ */
} tg_tokens;

/*
 * Append all tokens of the source's archives to *tokens, which is zeroed before the first call.  If some have
 * a loss mask and others do not, the text of those becomes a document of its own, or several. Takes ownership
 * of the source.  TG_EDATA: more than `max` tokens in all, which is checked before memory is allocated for
 * them; tokens of different tokenizers; an archive that lib/tokens/tokens_read.h refuses.  TG_EIO, TG_ENOMEM.
 * After a failure *tokens can only be freed.
 */
TG_MUST_CHECK tg_status tg_tokens_load_source(tg_tokens *tokens, tg_source *source, size_t max, tg_err *err);

/* Free what it owns and zero it. */
void tg_tokens_free(tg_tokens *tokens);

/* CRC-32 of the ids as stored in memory, and after them of the mask; it identifies the text. */
uint32_t tg_tokens_crc(const tg_tokens *tokens);

/* Copy n ids from position `at` into ids [n].  at + n <= count. */
void tg_tokens_get(const tg_tokens *tokens, int32_t *ids, size_t at, size_t n);

#endif
