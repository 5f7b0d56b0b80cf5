/*
 * stream: a text of any length, read piece by piece as ids of a model's tokenizer.
 *
 * (lib/gpt/prompt.h holds a whole text.)  The ids come from memory, or from a descriptor: text,
 * or one token archive or several in a row.
 * Memory: a chunk of tokens (lib/tokens/chunk.h) and the encoder.
 */
#ifndef TG_GPT_STREAM_H
#define TG_GPT_STREAM_H

#include <stddef.h>
#include <stdint.h>

#include "formats/source.h"
#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/gpt/model.h"
#include "lib/text/encoder.h"
#include "lib/tokens/tokens_read.h"

TG_API_BEGIN

typedef struct tg_stream {
    const tg_model *model;
    const int32_t *given;       /* ids in memory; or */
    tg_tokens_reader *tokens;   /* archives; or */
    tg_source text;             /* text, */
    tg_encoder *encoder;        /* and its encoder */
    const unsigned char *chunk; /* of an archive: its next ids, `width` bytes each */
    size_t width;
    size_t ready;   /* ids left in the chunk, or in memory */
    uint64_t count; /* ids delivered */
} tg_stream;

/* Read ids [n], which the caller owns and keeps in place until the stream is closed. */
void tg_stream_open_ids(tg_stream *s, const tg_model *model, const int32_t *ids, size_t n);

/* Read all of fd, which the caller keeps open and closes.  TG_EDATA: an archive of another kind.
 * TG_EIO, TG_ENOMEM.  After a failure the stream needs no close. */
TG_MUST_CHECK tg_status tg_stream_open(tg_stream *s, const tg_model *model, int fd, tg_err *err);

/*
 * Read the next *n ids into ids [max], max >= 1; *n < max only at the end of the stream, 0 after
 * it.  Each id is of the model's tokenizer.  TG_EDATA: tokens of another tokenizer, text that the
 * tokenizer cannot express, an id that it lacks, a damaged archive.
 * TG_EIO, TG_ENOMEM.  After a failure only tg_stream_close() is legal.
 */
TG_MUST_CHECK tg_status tg_stream_next(tg_stream *s, int32_t *ids, size_t max, size_t *n, tg_err *err);

void tg_stream_close(tg_stream *s);

TG_API_END

#endif
