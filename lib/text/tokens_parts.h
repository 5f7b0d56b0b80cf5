/*
 * tokens_parts: what writing and reading of token archives share; for tokens*.c only.
 */
#ifndef TG_TEXT_TOKENS_PARTS_H
#define TG_TEXT_TOKENS_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/text/tokens.h"

#define TG_TOKENS_NAME_SIZE 32

/* "tokens/00000000", the name of a chunk. */
void tg_tokens_chunk_name(char name[TG_TOKENS_NAME_SIZE], size_t number);

/* What follows must be of the same tokenizer: else TG_EDATA, with both. */
TG_MUST_CHECK tg_status tg_tokens_check_same(const tg_tokenizer *first, const tg_tokenizer *other,
                                             tg_err *err);

#endif
