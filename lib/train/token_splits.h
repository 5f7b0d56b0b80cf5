/*
 * token_splits: a text whose tokens are split at random, so that a model that reads it many times learns less
 * of it by heart.
 *
 * Each token of a merge is, with probability p, the two that are merged to make it, and each of these
 * likewise.  The text stays the same, in other tokens: those of byte pair encoding with some merges left out.
 *
 * Source: Sims et al. 2025, "StochasTok", arXiv:2506.01687; before it Provilkov et al. 2020, "BPE-Dropout",
 * arXiv:1910.13267, which leaves out merges while it encodes.
 */
#ifndef TG_TRAIN_TOKEN_SPLITS_H
#define TG_TRAIN_TOKEN_SPLITS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/rng.h"
#include "lib/base/status.h"
#include "lib/tokens/tokens.h"

TG_API_BEGIN

/* The maximum of p. */
#define TG_TOKEN_SPLITS_MAX 0.5

typedef struct tg_token_splits {
    double p;             /* 0: tokens are not split */
    int32_t (*halves)[2]; /* [ids] owned */
} tg_token_splits;

/* Splits with probability p of a text of that tokenizer, to be freed.  TG_EUSAGE: p > 0, and it is not of
 * kind "bpe". TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_token_splits_init(tg_token_splits *s, const tg_tokenizer *tok, double p,
                                             tg_err *err);

/* Free what it owns and zero it. */
void tg_token_splits_free(tg_token_splits *s);

/* The inputs and targets [T] of a window of the text that begins at token `at`; T + 1 tokens or more follow
 * there. What is split is a function of rng. */
void tg_token_splits_window(const tg_token_splits *s, const tg_tokens *text, const tg_rng *rng, int32_t *ids,
                            int32_t *targets, size_t at, size_t T);

TG_API_END

#endif
