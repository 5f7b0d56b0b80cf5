/*
 * rank_merges: the merges of a vocabulary that has only ranks, as .tiktoken files do: a token's id is
 * its rank, and of all adjacent pairs that together are a token, the one with the lowest id is merged,
 * the leftmost of equals first.
 *
 * Each token has at most one merge.  The bytes that become a token are merged as if nothing surrounded
 * them, because a merge across a border would remove that border for good.  So whatever surrounds it, a
 * token is made from the same two parts as when its own bytes are encoded alone; if those do not merge
 * into one token, no text produces it.
 */
#ifndef TG_VOCAB_RANK_MERGES_H
#define TG_VOCAB_RANK_MERGES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/bpe/bpe.h"
#include "lib/bpe/token_table.h"

/*
 * Find the merges, in order of rank: *merges [*n_merges] is to be freed with free(), and NULL after a
 * failure.  *unmade is the number of ordinary tokens of several bytes that no merge makes.
 * v: only its tokens, and which are ordinary, are read; every byte must be a token.
 * table: of the ordinary tokens.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_rank_merges(uint32_t (**merges)[2], size_t *n_merges, size_t *unmade,
                                       const tg_bpe_vocab *v, const tg_token_table *table, tg_err *err);

#endif
