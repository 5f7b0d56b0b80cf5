/*
 * tokenizer: text to token ids and back.
 *
 * The one kind so far is "bytes": 256 tokens, id = byte.  The archive that holds
 * tokens, and the model trained on them, carry the tokenizer in tokenizer/...
 */
#ifndef TG_TEXT_TOKENIZER_H
#define TG_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"

#define TG_TOKEN_BYTES_MAX 128 /* bytes of text that one token may stand for */

typedef struct tg_tokenizer {
    char kind[16];     /* "bytes" */
    size_t vocab_size; /* ids are below this */
} tg_tokenizer;

/* The byte-level tokenizer. */
tg_tokenizer tg_tokenizer_bytes(void);

/* Whether two tokenizers give the same ids for every text. */
bool tg_tokenizer_equal(const tg_tokenizer *a, const tg_tokenizer *b);

/*
 * Text [n bytes] into ids, of which there are at most n; returns how many.
 * Every byte string can be encoded.
 */
size_t tg_tokenizer_encode(const tg_tokenizer *tok, int32_t *ids, const unsigned char *text, size_t n);

/* The bytes of one token into text [TG_TOKEN_BYTES_MAX]; returns how many.
 * id must be in [0, vocab_size). */
size_t tg_tokenizer_decode(const tg_tokenizer *tok, unsigned char *text, int32_t id);

/* Write tokenizer/kind and tokenizer/vocab_size. */
TG_MUST_CHECK tg_status tg_tokenizer_put(const tg_tokenizer *tok, tg_archive_writer *w, tg_err *err);

/*
 * Take the current array if its name begins with "tokenizer/"; *taken says so.
 * Start from a zeroed tokenizer, and call tg_tokenizer_check() when all arrays
 * have been offered.  TG_EDATA: an array or a value that this version lacks.
 */
TG_MUST_CHECK tg_status tg_tokenizer_take(tg_tokenizer *tok, tg_archive_reader *r, const tg_array *a,
                                          bool *taken, tg_err *err);
TG_MUST_CHECK tg_status tg_tokenizer_check(const tg_tokenizer *tok, tg_err *err);

#endif
