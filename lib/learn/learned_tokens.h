/*
 * learned_tokens: the tokens of a vocabulary while it is learned, for vocab_learner.c: the bytes,
 * then the merged tokens, with room for the special tokens at the end.
 */
#ifndef TG_LEARN_LEARNED_TOKENS_H
#define TG_LEARN_LEARNED_TOKENS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/bpe/bpe.h"

#define TG_LEARNED_BYTES 256 /* ids of single bytes */

typedef struct tg_learned_tokens {
    size_t n;              /* ids so far; there is room for the special ones too */
    uint32_t *ends;        /* [ends_capacity]: as in tg_bpe_vocab */
    uint32_t (*halves)[2]; /* [halves_capacity]: of id TG_LEARNED_BYTES + i */
    unsigned char *text;   /* [text_capacity]: `bytes` so far */
    size_t bytes, ends_capacity, halves_capacity, text_capacity;

    const char *const *special; /* [n_special]; not owned */
    uint32_t *special_ids;      /* [n_special] */
    size_t n_special, special_bytes;
} tg_learned_tokens;

/* Begin with the bytes; the special tokens' texts must outlive t.  TG_ENOMEM: t can only be freed. */
TG_MUST_CHECK tg_status tg_learned_tokens_begin(tg_learned_tokens *t, const char *const *special,
                                                size_t n_special, tg_err *err);

/* Make room for so many more tokens, of n bytes in all.  TG_ENOMEM: t is unchanged. */
TG_MUST_CHECK tg_status tg_learned_tokens_reserve(tg_learned_tokens *t, size_t more, size_t n, tg_err *err);

/* Append the concatenation of two tokens; room has been reserved.  Returns its id. */
uint32_t tg_learned_tokens_join(tg_learned_tokens *t, uint32_t left, uint32_t right);

/* The tokens, then the special ones, valid until t changes. */
void tg_learned_tokens_vocab(tg_learned_tokens *t, tg_split split, tg_bpe_vocab *vocab);

/* Bytes of memory in use. */
size_t tg_learned_tokens_memory(const tg_learned_tokens *t);

void tg_learned_tokens_free(tg_learned_tokens *t);

#endif
