/*
 * bpe_state: a vocabulary as the encoder of kind "bpe" uses it.
 */
#ifndef TG_TEXT_BPE_STATE_H
#define TG_TEXT_BPE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text/bpe.h"
#include "lib/text/pairs.h"
#include "lib/text/prefix_filter.h"
#include "lib/text/token_table.h"

typedef struct tg_bpe {
    tg_bpe_vocab vocab; /* its arrays are the following, which an archive or a caller gave */
    uint32_t *ends;
    unsigned char *tokens;
    uint32_t (*merges)[2];
    uint32_t *special;
    size_t n_bytes; /* of tokens */
    bool has_split, has_normalizer, has_whole_pieces;
    int64_t whole_pieces;

    /* What follows from them. */
    uint32_t byte_ids[256]; /* UINT32_MAX: no token is this byte alone */
    bool all_bytes;         /* each has a token */
    uint32_t *made;         /* [n_merges] the tokens that merges make */
    size_t longest;         /* bytes of the longest ordinary token */
    bool proper;            /* see tg_bpe_prepare() */
    bool blocks;            /* long pieces are encoded in blocks: it is proper, and no token is very long */
    tg_token_table table;   /* ordinary tokens; empty unless whole pieces are looked up */
    tg_pairs pairs;
    tg_prefix_filter prefixes; /* of ordinary tokens, if there are blocks */
} tg_bpe;

/* Bytes of the longest token with which long pieces are encoded in blocks. */
#define TG_BPE_BLOCKS_TOKEN ((size_t)1024)

/*
 * Check the arrays, which are there and lie within the limits, and compute the rest.
 *
 * Of all merges that make a token t, at most one ever happens: the one that ends the merging of
 * t's own bytes.  For where two neighbours a and b came to be, in whatever text, the merges of a's
 * and b's bytes were those, in that order, that the bytes of ab alone undergo, as each step took the
 * lowest rank, and the leftmost, of all.  Merges that never happen are left out (files of Llama 3
 * have many).
 *
 * A vocabulary is *proper* when the rank of each of the others is above the ranks of those that
 * make its halves.  All that were learned are.  lib/text/long_piece.h needs it.
 *
 * TG_EDATA, with the ids or the ranks at fault.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_bpe_prepare(tg_bpe *b, tg_err *err);

/* The tokens of the bytes of text [n], into ids [n].  TG_EDATA: a byte has none; offset: where text
 * begins, for the message. */
TG_MUST_CHECK tg_status tg_bpe_bytes(const tg_bpe *b, int32_t *ids, const unsigned char *text, size_t n,
                                     uint64_t offset, tg_err *err);

/* The text of a token. */
static inline const unsigned char *tg_bpe_token(const tg_bpe *b, uint32_t id, size_t *n)
{
    const uint32_t from = id > 0 ? b->ends[id - 1] : 0;

    *n = b->ends[id] - from;
    return b->tokens + from;
}

#endif
