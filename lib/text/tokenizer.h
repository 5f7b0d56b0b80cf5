/*
 * tokenizer: a vocabulary, and the rule that turns a text into its ids.
 *
 * A tokenizer is made once and never changes.  Several owners share it: a model, a token
 * stream, an encoder.  Any thread may use it, and take and free references to it.
 *
 * Every tokenizer has a kind ("bytes": 256 ids, id = byte).  Archives store the kind and its
 * arrays in tokenizer/..., so that a model is never given the tokens of another tokenizer.
 * lib/text/encoder.h turns text into ids.  lib/tokens/tokenizer_read.h makes a tokenizer by the name of its
 * kind.
 */
#ifndef TG_TEXT_TOKENIZER_H
#define TG_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/api.h"
#include "lib/base/status.h"

TG_API_BEGIN

typedef struct tg_tokenizer tg_tokenizer;

/* Another reference to tok, to be freed like the first; returns tok. */
const tg_tokenizer *tg_tokenizer_ref(const tg_tokenizer *tok);

/* Free one reference; the last one frees the memory.  NULL is fine. */
void tg_tokenizer_free(const tg_tokenizer *tok);

const char *tg_tokenizer_kind_name(const tg_tokenizer *tok);

/* The number of ids, at most TG_VOCAB_MAX.  Every id is below it. */
size_t tg_tokenizer_vocab_size(const tg_tokenizer *tok);

/* Whether the ids of every text, stored in one byte each, are the text's own bytes.  Then a
 * text needs no encoder: it can be written, read and counted as its own tokens. */
bool tg_tokenizer_ids_are_bytes(const tg_tokenizer *tok);

/*
 * Whether tokens stand for text.  If not, no text can be encoded, and the text of a token is its id in
 * decimal, without any space: whoever writes several in a row separates them.
 */
bool tg_tokenizer_has_text(const tg_tokenizer *tok);

/*
 * The text of one token: a pointer to *n bytes, valid as long as tok.
 * For an id that the tokenizer lacks, *n = 0 and the pointer is not NULL.
 * (A model may have more rows in its embedding than its tokenizer has ids.)
 */
const unsigned char *tg_tokenizer_token(const tg_tokenizer *tok, int32_t id, size_t *n);

/* Whether the text of token `id`, if it begins with a space, begins with one that encoding has put there: a
 * text begins with this token, after the id `before`, or -1 at the start (lib/text/decoder.h). */
bool tg_tokenizer_adds_space(const tg_tokenizer *tok, int32_t before, int32_t id);

/*
 * Special tokens: ids that a text produces only if the encoder was told to look for them
 * (tg_encoder_match_special()).  Returns their number; *ids points to them, ascending, valid as
 * long as tok.
 */
size_t tg_tokenizer_specials(const tg_tokenizer *tok, const uint32_t **ids);

/* Added tokens: their texts become these ids in every text, before anything else is done with it.  None is a
 * special one.  Returns their number; *ids points to them, as above. */
size_t tg_tokenizer_added(const tg_tokenizer *tok, const uint32_t **ids);

/* The special token, or else the added one, with this text; -1: none has it.  A linear search. */
int32_t tg_tokenizer_special_id(const tg_tokenizer *tok, const void *text, size_t n);

/* The token of those that ends a text: "<|endoftext|>", else "<|end_of_text|>", "</s>" or "<eos>"; -1:
 * none. */
int32_t tg_tokenizer_end_of_text(const tg_tokenizer *tok);

/* The one that begins a text: "<s>", "<bos>", "<|begin_of_text|>", else the one that ends it; -1: none. */
int32_t tg_tokenizer_start_of_text(const tg_tokenizer *tok);

/* Its identity, TG_SHA256_SIZE bytes (formats/sha256.h): a hash of its arrays, their names and
 * types, computed when it was made. */
const unsigned char *tg_tokenizer_identity(const tg_tokenizer *tok);

/*
 * Check that two tokenizers have the same identity.  Otherwise TG_EDATA, with a message that
 * names both.
 * want: the model's, or that of the preceding tokens.  got: that of the new tokens.
 */
TG_MUST_CHECK tg_status tg_tokenizer_same(const tg_tokenizer *want, const tg_tokenizer *got, tg_err *err);

/* Write tokenizer/kind, tokenizer/vocab_size and the arrays of its kind. */
TG_MUST_CHECK tg_status tg_tokenizer_put(const tg_tokenizer *tok, tg_archive_writer *w, tg_err *err);

TG_API_END

#endif
