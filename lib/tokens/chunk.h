/*
 * chunk: how a token archive is divided.
 *
 * Archive: kind = "tokens", version = 1, tokenizer/..., chat_template, then the chunks tokens/00000000,
 * tokens/00000001, ... of at most TG_TOKENS_CHUNK_MAX ids each, as lib/text/ids.h stores them.  The loss mask
 * of a chunk, mask/00000000, comes before it.
 */
#ifndef TG_TOKENS_CHUNK_H
#define TG_TOKENS_CHUNK_H

#include <stddef.h>

#define TG_TOKENS_VERSION 1
/* After the last chunk of an archive whose text continues in the next one. */
#define TG_TOKENS_GOES_ON "goes_on"

#define TG_TOKENS_CHUNK_MAX ((size_t)1 << 20) /* ids; a reader refuses more */

/* Bytes of a full chunk: half of the largest pipe buffer that Linux allows by default, so that
 * the reader works on one chunk while the writer computes the checksum of the next. */
#ifndef TG_TOKENS_CHUNK
#define TG_TOKENS_CHUNK ((size_t)1 << 19)
#endif

#define TG_CHUNK_NAME "tokens/%08zu" /* of the chunk with that number, from 0 */
#define TG_CHUNK_MASK "mask/%08zu"   /* of its mask */
#define TG_CHUNK_NAME_SIZE 32

#endif
