/*
 * tokens: token streams, written while text arrives, read whole or piece by piece.
 *
 * Archive: kind = "tokens", version = 1, tokenizer/..., then tokens/00000000,
 * tokens/00000001, ... of at most TG_TOKENS_CHUNK_MAX ids each, in the smallest
 * unsigned type that holds the vocabulary.
 */
#ifndef TG_TEXT_TOKENS_H
#define TG_TEXT_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

#define TG_TOKENS_VERSION 1
#define TG_TOKENS_CHUNK_MAX ((size_t)1 << 20)

/* Ids in a chunk as we write it: half of what a pipe holds at most on Linux (by default),
 * so that its reader has a half to go on with while we compute the next one's checksum. */
#ifndef TG_TOKENS_CHUNK
#define TG_TOKENS_CHUNK ((size_t)1 << 19)
#endif

/* Bytes of one stored id for a vocabulary: 1, 2 or 4. */
size_t tg_tokens_width(size_t vocab_size);

/* The id of `width` bytes at p, as it lies in files and in memory: little-endian. */
uint32_t tg_tokens_load_id(const unsigned char *p, size_t width);

/* ---- writing: memory for one chunk, however long the text */

typedef struct tg_tokens_writer tg_tokens_writer;

TG_MUST_CHECK tg_status tg_tokens_create(tg_tokens_writer **w, int fd, const tg_tokenizer *tok, tg_err *err);

/* Append the ids of text [n bytes]; full chunks are written out. */
TG_MUST_CHECK tg_status tg_tokens_write(tg_tokens_writer *w, const unsigned char *text, size_t n,
                                        tg_err *err);

/* The same for text that nobody changes from here on, not even when this has returned,
 * as that of a mapped file: it goes into a pipe without being copied. */
TG_MUST_CHECK tg_status tg_tokens_write_zero_copy(tg_tokens_writer *w, const unsigned char *text, size_t n,
                                                tg_err *err);

/* Write the last chunk and close the archive. */
TG_MUST_CHECK tg_status tg_tokens_finish(tg_tokens_writer *w, tg_err *err);
void tg_tokens_abandon(tg_tokens_writer *w);

/* ---- reading piece by piece: memory for one chunk */

typedef struct tg_tokens_reader tg_tokens_reader;

/* Read one token archive or several in a row, all of one tokenizer, from a source that
 * the caller has opened and may have peeked at; it is taken over, also when this fails
 * (formats/archive.h).  TG_EDATA: not a token archive (the message says what it is). */
TG_MUST_CHECK tg_status tg_tokens_open_source(tg_tokens_reader **r, tg_source *source, tg_err *err);

/* The tokenizer; known from the first successful tg_tokens_next() on. */
const tg_tokenizer *tg_tokens_tokenizer(const tg_tokens_reader *r);

/*
 * The next chunk: *ids points to *n ids of `tg_tokens_width` bytes each, valid
 * until the next call; *n = 0 at the end of the input.  Every id is checked
 * against the vocabulary (TG_EDATA with its position and value).
 */
TG_MUST_CHECK tg_status tg_tokens_next(tg_tokens_reader *r, const void **ids, size_t *n, tg_err *err);
void tg_tokens_close(tg_tokens_reader *r);

/* ---- reading whole */

typedef struct tg_tokens {
    tg_tokenizer tokenizer;
    size_t count;
    size_t width;        /* bytes an id: 1, 2 or 4 */
    unsigned char *data; /* count * width bytes, little-endian; owned */
} tg_tokens;

/* All tokens of the source, which is taken over, appended to *tokens (zeroed before the
 * first call; later calls must bring the same tokenizer).  TG_EDATA when there would be
 * more than `most` of them, before there is memory for those.  After a failure *tokens
 * can only be freed. */
TG_MUST_CHECK tg_status tg_tokens_load_source(tg_tokens *tokens, tg_source *source, size_t most, tg_err *err);
void tg_tokens_free(tg_tokens *tokens);

/* CRC-32 of the ids as they lie in memory: which text this is. */
uint32_t tg_tokens_crc(const tg_tokens *tokens);

/* n ids from position `at` into ids.  at + n <= count. */
void tg_tokens_get(const tg_tokens *tokens, int32_t *ids, size_t at, size_t n);

#endif
