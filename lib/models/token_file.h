/*
 * token_file: streams of token ids in other projects' files: llm.c's (formats/llmc.h), and nanoGPT's, which
 * are nothing but 16-bit numbers, little-endian.  Neither says which tokenizer the ids are of.
 */
#ifndef TG_MODELS_TOKEN_FILE_H
#define TG_MODELS_TOKEN_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/source.h"
#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

typedef enum tg_token_format {
    TG_TOKENS_NPZ, /* our own archives */
    TG_TOKENS_LLMC,
    TG_TOKENS_UINT16,
    TG_TOKEN_FORMATS
} tg_token_format;

/* What --to calls those of other projects. */
#define TG_TOKEN_FORMAT_NAMES "llmc-tokens|uint16"

/* Whether the file at path is one of the first two; it is then a file of tokens for certain.  What does not
 * exist is none.  TG_EIO, TG_ENOMEM: it cannot be read; the message names it. */
TG_MUST_CHECK tg_status tg_token_file_recognize(const char *path, bool *is, tg_err *err);

/* How to write ids that come without a tokenizer into an archive. */
typedef struct tg_token_ask {
    const tg_tokenizer *tokenizer; /* NULL: kind "ids" */
    size_t vocab_size;             /* of that kind; 0: the highest id and one, if the source is a file */
} tg_token_ask;

typedef struct tg_token_copy {
    uint64_t count;     /* of ids */
    bool source_failed; /* after a failure: in reading the source, or in its ids; otherwise, in the output */
} tg_token_copy;

/*
 * Copy all ids from the source, at its beginning, to fd, in another format; *copied is set in any case.  raw:
 * the source has 16-bit numbers only; otherwise its first bytes decide.  Takes ownership of the source.
 *
 * TG_EDATA: the source is no file of tokens, or damaged; an id is outside the tokenizer's vocabulary; an
 * archive of another tokenizer than ask's.  TG_EUSAGE: an id does not fit in 16 bits; the number of ids,
 * which begins an llm.c file, cannot be written because fd is a pipe, or is opened for appending; vocab_size
 * is needed; the source has a loss mask (lib/tg/tokens.h).  TG_EIO, TG_ENOMEM.  Memory: one chunk.
 */
TG_MUST_CHECK tg_status tg_token_file_convert(int fd, tg_token_format to, tg_source *source, bool raw,
                                              const tg_token_ask *ask, tg_token_copy *copied, tg_err *err);

#endif
