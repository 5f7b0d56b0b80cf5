/*
 * stream: the ids of a text for a tokenizer, of any length and piece by piece, or all of them: a prompt.
 *
 * The text comes from memory, as bytes or ids, or from a descriptor: text, or one token archive or several in
 * a row, which its first bytes tell apart.
 * Memory of a stream: a chunk of tokens (lib/tokens/chunk.h) and the encoder.
 */
#ifndef TG_TOKENS_STREAM_H
#define TG_TOKENS_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/source.h"
#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/text/encoder.h"
#include "lib/text/tokenizer.h"
#include "lib/tokens/mask.h"
#include "lib/tokens/tokens_read.h"

TG_API_BEGIN

/* ---- a stream */

typedef struct tg_tokens_stream {
    const tg_tokenizer *tok;    /* the caller's, which stays until the stream is closed */
    tg_encoder *encoder;        /* of a text; NULL: the stream has ids */
    tg_text text;               /* bytes of the text that are not encoded yet */
    tg_source source;           /* where more come from; closed: from nowhere */
    tg_tokens_reader *archives; /* where ids come from; NULL: from memory */
    const unsigned char *chunk; /* [ready] the next ids, if they come from archives, as stored there */
    const int32_t *given;       /* [ready] otherwise */
    size_t ready;
    const unsigned char *mask; /* [ready] of the chunk (lib/tokens/mask.h); NULL: it has none */
    bool in_document;          /* some of its tokens have been delivered, and not its end */
    bool is_masked;            /* those that were delivered last had a mask */
    uint64_t room;             /* bytes of text, or ids of archives, that may still come */
    uint64_t count;            /* ids delivered */
} tg_tokens_stream;

/* Read ids [n], which the caller owns and keeps in place until the stream is closed. */
void tg_tokens_stream_open_ids(tg_tokens_stream *s, const tg_tokenizer *tok, const int32_t *ids, size_t n);

/* Read a document's ids and mask [n] (lib/tokens/mask.h), likewise. */
void tg_tokens_stream_open_document(tg_tokens_stream *s, const tg_tokenizer *tok, const int32_t *ids,
                                    const unsigned char *mask, size_t n);

/* Read all of fd, which the caller keeps open and closes.  TG_EDATA: an archive of another kind.
 * TG_EIO, TG_ENOMEM.  After a failure the stream needs no close. */
TG_MUST_CHECK tg_status tg_tokens_stream_open(tg_tokens_stream *s, const tg_tokenizer *tok, int fd,
                                              tg_err *err);

/*
 * Read the next *n ids into ids [max], max >= 1; *n < max only at the end of the stream, 0 after
 * it.  Each id is the tokenizer's.  TG_EDATA: tokens of another tokenizer, text that the tokenizer cannot
 * express, an id that it lacks, a damaged archive.  TG_EIO, TG_ENOMEM.  After a failure only
 * tg_tokens_stream_close() is legal.
 */
TG_MUST_CHECK tg_status tg_tokens_stream_next(tg_tokens_stream *s, int32_t *ids, size_t max, size_t *n,
                                              tg_err *err);

/*
 * The same for a stream whose documents are separate texts, if it has a loss mask: also the mask [max] of the
 * ids, and *n < max at the end of each document, after which the next call goes on with the next document.  A
 * stream without a mask is one document, whose tokens are all predicted.
 */
TG_MUST_CHECK tg_status tg_tokens_stream_next_document(tg_tokens_stream *s, int32_t *ids, unsigned char *mask,
                                                       size_t max, size_t *n, tg_err *err);

/* Before any id has been read: whether the stream has a loss mask.  Fails like tg_tokens_stream_next(). */
TG_MUST_CHECK tg_status tg_tokens_stream_has_mask(tg_tokens_stream *s, bool *has, tg_err *err);

/* After the end of a document: whether another one follows. */
bool tg_tokens_stream_goes_on(const tg_tokens_stream *s);

void tg_tokens_stream_close(tg_tokens_stream *s);

/* ---- a prompt, which is a whole stream */

#define TG_TOKENS_PROMPT_MAX ((size_t)64 << 20) /* max bytes of text, or tokens, from a descriptor */

typedef struct tg_tokens_prompt {
    int32_t *ids; /* [n], each of the tokenizer; owned */
    size_t n;
    bool begun; /* by tg_tokens_prompt_begin(): ids[0] is no part of the text */
} tg_tokens_prompt;

/*
 * From text [n bytes], a copy of ids [n], or all of fd.  Empty text is no error: p->n is 0.
 * Fail like tg_tokens_stream_open() and tg_tokens_stream_next(); TG_EDATA also: fd has more than
 * TG_TOKENS_PROMPT_MAX.  After a failure *p needs no free.
 */
TG_MUST_CHECK tg_status tg_tokens_prompt_text(tg_tokens_prompt *p, const tg_tokenizer *tok, const void *text,
                                              size_t n, tg_err *err);
TG_MUST_CHECK tg_status tg_tokens_prompt_ids(tg_tokens_prompt *p, const tg_tokenizer *tok, const int32_t *ids,
                                             size_t n, tg_err *err);
TG_MUST_CHECK tg_status tg_tokens_prompt_read(tg_tokens_prompt *p, const tg_tokenizer *tok, int fd,
                                              tg_err *err);

/* From text [n bytes] that continues another one, so that no kind of tokenizer puts a space before it. */
TG_MUST_CHECK tg_status tg_tokens_prompt_continue(tg_tokens_prompt *p, const tg_tokenizer *tok,
                                                  const void *text, size_t n, tg_err *err);

/* Put a token before the others.  TG_ENOMEM: *p is unchanged. */
TG_MUST_CHECK tg_status tg_tokens_prompt_begin(tg_tokens_prompt *p, int32_t id, tg_err *err);

/* The bytes of the text that token t stands for (lib/text/decoder.h), *n of them: none if tokens have no
 * text, or if it has been put before the text. */
const unsigned char *tg_tokens_prompt_token(const tg_tokens_prompt *p, const tg_tokenizer *tok, size_t t,
                                            size_t *n);

void tg_tokens_prompt_free(tg_tokens_prompt *p);

TG_API_END

#endif
