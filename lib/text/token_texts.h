/*
 * token_texts: tokens in an archive of numbers: their ids, and the text of each for the eye.
 */
#ifndef TG_TEXT_TOKEN_TEXTS_H
#define TG_TEXT_TOKEN_TEXTS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

#define TG_TOKEN_TEXT_SIZE 64 /* bytes of a token's text, NUL-padded; a longer one is cut */

/* The texts of tokens: copy that of `id`, without NUL, to out, in at most `size` bytes, and return their
 * number.  `context` is the tokenizer. */
typedef size_t (*tg_token_text_of)(const void *context, char *out, size_t size, int32_t id);

/* Write the texts of n ids as an array of this shape, "" of -1; nothing if the tokenizer has no text.
 * TG_ENOMEM, and as tg_archive_put(). */
TG_MUST_CHECK tg_status tg_token_texts_put(tg_archive_writer *w, const char *name, size_t dims,
                                           const size_t *shape, const tg_tokenizer *tok,
                                           tg_token_text_of text_of, const int64_t *ids, size_t n,
                                           tg_err *err);

/* Write an id, -1 for no token, under `id_name`, and its text, unless it is -1, under `text_name`. */
TG_MUST_CHECK tg_status tg_token_id_put(tg_archive_writer *w, const char *id_name, const char *text_name,
                                        const tg_tokenizer *tok, tg_token_text_of text_of, int64_t id,
                                        tg_err *err);

/* Write ids [T], at least one, as int64 under `ids_name`, and their texts under `text_name`. */
TG_MUST_CHECK tg_status tg_token_ids_put(tg_archive_writer *w, const char *ids_name, const char *text_name,
                                         const tg_tokenizer *tok, tg_token_text_of text_of,
                                         const int32_t *ids, size_t T, tg_err *err);

#endif
