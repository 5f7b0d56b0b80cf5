/*
 * kinds: all kinds of tokenizers.
 */
#ifndef TG_TOKENS_KINDS_H
#define TG_TOKENS_KINDS_H

#include "lib/text/kind.h"

/* Those that archives may name, the tools' default first, then NULL.  (kinds.c holds nothing else, so that a
 * test can link its own list.) */
extern const tg_tokenizer_kind *const tg_tokenizer_kinds[];

#endif
