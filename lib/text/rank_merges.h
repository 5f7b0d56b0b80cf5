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
#include "lib/text/token_index.h"

/*
 * The merges of the vocabulary of an index, which has a token for each byte, in order of rank, into
 * (*merges) [*n_merges], to be freed with free(); NULL after a failure.  TG_ENOMEM.
 * Time: proportional to the bytes of all tokens, up to logarithms.
 */
TG_MUST_CHECK tg_status tg_rank_merges(uint32_t (**merges)[2], size_t *n_merges, const tg_token_index *index,
                                       size_t n, tg_err *err);

#endif
