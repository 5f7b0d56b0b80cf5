/*
 * bare_ids: the kind "ids": n ids without text, for a model whose tokenizer is unknown.
 *
 * No text can be encoded: whoever uses such a model gives token ids, or tokens.  The text of a token is
 * its id in decimal; it is what a reader sees, not what the token stands for
 * (tg_tokenizer_has_text()).
 *
 * Archive: tokenizer/kind = "ids", tokenizer/vocab_size = n.
 */
#ifndef TG_TEXT_BARE_IDS_H
#define TG_TEXT_BARE_IDS_H

#include <stddef.h>

#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

#define TG_BARE_IDS_MAX ((size_t)1 << 22) /* ids */

/* A tokenizer of n ids, to be freed.  Memory: 8 n bytes.  TG_EDATA: n is 0, or more than
 * TG_BARE_IDS_MAX.  TG_ENOMEM.  *tok is NULL after a failure. */
TG_MUST_CHECK tg_status tg_bare_ids_create(const tg_tokenizer **tok, size_t n, tg_err *err);

#endif
