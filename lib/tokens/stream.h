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
#include "lib/base/status.h"
#include "lib/text/encoder.h"
#include "lib/text/tokenizer.h"
#include "lib/tg/tokenizer.h"
#include "lib/tg/tokens.h"
#include "lib/tokens/tokens_read.h"

typedef struct tg_tokens_stream {
    const tg_tokenizer *tok;    /* the caller's, which stays until the stream is closed */
    tg_encoder *encoder;        /* of a text; NULL: the stream has ids */
    tg_text text;               /* bytes of the text that are not encoded yet */
    tg_source source;           /* where more come from; closed: from nowhere */
    tg_tokens_reader *archives; /* where ids come from; NULL: from memory */
    const unsigned char *chunk; /* [ready] the next ids, if they come from archives, as stored there */
    const int32_t *given;       /* [ready] otherwise */
    size_t ready;
    const unsigned char *mask; /* [ready] of the chunk (lib/tg/tokens.h); NULL: it has none */
    bool in_document;          /* some of its tokens have been delivered, and not its end */
    bool is_masked;            /* those that were delivered last had a mask */
    uint64_t room;             /* bytes of text, or ids of archives, that may still come */
    uint64_t count;            /* ids delivered */
} tg_tokens_stream;

/* Read ids [n], which the caller owns and keeps in place until the stream is closed. */
void tg_tokens_stream_open_ids(tg_tokens_stream *s, const tg_tokenizer *tok, const int32_t *ids, size_t n);

/* Read a document's ids and mask [n] (lib/tg/tokens.h), likewise. */
void tg_tokens_stream_open_document(tg_tokens_stream *s, const tg_tokenizer *tok, const int32_t *ids,
                                    const unsigned char *mask, size_t n);

/* Read all of fd, which the caller keeps open and closes.  TG_EDATA: an archive of another kind.
 * TG_EIO, TG_ENOMEM.  After a failure the stream needs no close. */
TG_MUST_CHECK tg_status tg_tokens_stream_open(tg_tokens_stream *s, const tg_tokenizer *tok, int fd,
                                              tg_err *err);

void tg_tokens_stream_close(tg_tokens_stream *s);

#endif
