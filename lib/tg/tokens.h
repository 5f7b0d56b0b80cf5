/*
 * tokens: archives of ids, written as they arrive, and streams of ids, of text or of archives.
 *
 * A text with a loss mask is a list of documents, each of which is predicted from itself alone; of a
 * conversation only the answers are predicted.  A text without a mask is one document.
 */
#ifndef TG_TG_TOKENS_H
#define TG_TG_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/status.h"
#include "lib/tg/tokenizer.h"

TG_API_BEGIN

/* A byte for each token; these are the values in an archive. */
enum {
    TG_MASK_READ,      /* the token is only read */
    TG_MASK_PREDICTED, /* and predicted */
    TG_MASK_FIRST,     /* a document begins with it; it is only read */
    TG_MASKS           /* how many values there are */
};

/* ---- writing an archive; memory: one chunk */

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

/* Give the archive a loss mask: call before any ids.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_tokens_begin_mask(tg_tokens_writer *w, tg_err *err);

/* Append n ids of an archive with a mask, of which they all have this value.  Fails like tg_tokens_write(),
 * which appends predicted ones. */
TG_MUST_CHECK tg_status tg_tokens_write_masked(tg_tokens_writer *w, const int32_t *ids, size_t n, int mask,
                                               tg_err *err);

/* Write the last chunk and close the archive.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_tokens_finish(tg_tokens_writer *w, tg_err *err);

/* Free the writer, finished or not.  NULL is fine. */
void tg_tokens_abandon(tg_tokens_writer *w);

/* ---- reading a stream; memory: one chunk */

typedef struct tg_tokens_stream tg_tokens_stream;

/*
 * The ids of all that comes from fd, which the caller keeps open and closes: text, or one token archive or
 * several in a row, which its first bytes tell apart.  The tokenizer stays the caller's until the stream is
 * destroyed.  TG_EDATA: an archive of another kind.  TG_EIO, TG_ENOMEM.  *s is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_tokens_stream_new(tg_tokens_stream **s, const tg_tokenizer *tok, int fd,
                                             tg_err *err);

/* The same of ids [n], which the caller owns and keeps in place.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_tokens_stream_new_ids(tg_tokens_stream **s, const tg_tokenizer *tok,
                                                 const int32_t *ids, size_t n, tg_err *err);
void tg_tokens_stream_destroy(tg_tokens_stream *s); /* NULL is fine */

/*
 * Read the next *n ids into ids [max], max >= 1; *n < max only at the end of the stream, 0 after
 * it.  Each id is the tokenizer's.  TG_EDATA: tokens of another tokenizer, text that the tokenizer cannot
 * express, an id that it lacks, a damaged archive.  TG_EIO, TG_ENOMEM.  After a failure only
 * tg_tokens_stream_destroy() is legal.
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

TG_API_END

#endif
