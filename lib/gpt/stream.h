/*
 * stream: the tokens of a text as it comes, however long, as ids of a model's tokenizer.
 *
 * For what looks at one piece after the other; lib/gpt/prompt.h is for text as a whole.
 * They come from ids in memory, or from a descriptor that brings text, or a token archive
 * or several in a row.  Memory is that of a chunk of tokens (lib/text/tokens.h).
 */
#ifndef TG_GPT_STREAM_H
#define TG_GPT_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/source.h"
#include "lib/base/status.h"
#include "lib/gpt/model.h"
#include "lib/text/tokens.h"

typedef struct tg_stream {
    const tg_model *model;
    const int32_t *given;     /* ids in memory; or */
    tg_tokens_reader *tokens; /* archives; or */
    tg_source text;
    const unsigned char *chunk; /* the ids of an archive that are at hand, `width` bytes each */
    size_t width;
    size_t ready;   /* how many there are of those, or of the given ones */
    uint64_t count; /* ids that it has brought */
} tg_stream;

/* ids [n], which the caller keeps meanwhile. */
void tg_stream_open_ids(tg_stream *s, const tg_model *model, const int32_t *ids, size_t n);

/* All of fd, which stays the caller's.  TG_EDATA: an archive, but not one of tokens.
 * TG_EIO, TG_ENOMEM.  After a failure the stream needs no close. */
TG_MUST_CHECK tg_status tg_stream_open(tg_stream *s, const tg_model *model, int fd, tg_err *err);

/*
 * The next ids: *n of them, `most` unless the stream ends before; 0 at its end.  Each is
 * below the model's vocab_size.  TG_EDATA: tokens of another tokenizer, an id that the
 * model lacks, a damaged archive.  TG_EIO, TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_stream_next(tg_stream *s, int32_t *ids, size_t most, size_t *n, tg_err *err);

void tg_stream_close(tg_stream *s);

#endif
