/*
 * vocab_tokens: the tokens of a vocabulary by their bytes.
 */
#ifndef TG_VOCAB_VOCAB_TOKENS_H
#define TG_VOCAB_VOCAB_TOKENS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"
#include "lib/bpe/bpe.h"
#include "lib/bpe/token_table.h"

/*
 * A table of a vocabulary's ordinary tokens, to be freed.  TG_EDATA: two are equal; the message has
 * their ids.
 * TG_ENOMEM.  After a failure *table needs no free.
 */
TG_MUST_CHECK tg_status tg_vocab_table(tg_token_table *table, const tg_bpe_vocab *v, tg_err *err);

/* The first byte that is not a token; -1: all are. */
int tg_vocab_missing_byte(const tg_token_table *table);

/* The bytes of token id, which is below v->n; those of the longest token; whether it is neither special nor
 * added. */
const unsigned char *tg_vocab_token(const tg_bpe_vocab *v, size_t id, size_t *n);
size_t tg_vocab_longest(const tg_bpe_vocab *v);
bool tg_vocab_is_ordinary(const tg_bpe_vocab *v, size_t id);

#endif
