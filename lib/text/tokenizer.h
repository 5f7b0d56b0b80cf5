/*
 * tokenizer: what the library needs of a tokenizer, besides what programs use (lib/tg/tokenizer.h): its
 * arrays in an archive.  lib/tokens/tokenizer_read.h makes a tokenizer by the name of its kind.
 */
#ifndef TG_TEXT_TOKENIZER_H
#define TG_TEXT_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/tg/tokenizer.h"

/* Write tokenizer/kind, tokenizer/vocab_size and the arrays of its kind. */
TG_MUST_CHECK tg_status tg_tokenizer_put(const tg_tokenizer *tok, tg_archive_writer *w, tg_err *err);

#endif
