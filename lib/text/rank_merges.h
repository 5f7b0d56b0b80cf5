/*
 * rank_merges: the merges of a vocabulary that only has ranks, as .tiktoken files do: a token's id is
 * its rank, and of all neighbours that together are a token, those of the lowest id become one, the
 * leftmost first.
 *
 * Each token has at most one merge.  What lies within the borders of a token-to-be is merged as if
 * nothing else were there, because a merge across a border would remove that border for good.  So
 * whatever surrounds it, a token comes from the two parts from which it comes when its own bytes are
 * encoded alone; if these do not end as one token, no text merges into it.
 */
#ifndef TG_TEXT_RANK_MERGES_H
#define TG_TEXT_RANK_MERGES_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/bpe.h"
#include "lib/text/token_table.h"

/*
 * The merges, in order of rank, into (*merges) [*n_merges], to be freed with free(); NULL after a
 * failure.  *unmade is the number of ordinary tokens of several bytes that no merge makes.
 * v: its tokens and special tokens, of which a byte each is one; the rest is not read.
 * table: of the ordinary tokens.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_rank_merges(uint32_t (**merges)[2], size_t *n_merges, size_t *unmade,
                                       const tg_bpe_vocab *v, const tg_token_table *table, tg_err *err);

#endif
