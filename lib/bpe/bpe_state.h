/*
 * bpe_state: a vocabulary as the encoder of kind "bpe" uses it.
 */
#ifndef TG_BPE_BPE_STATE_H
#define TG_BPE_BPE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bpe/bpe.h"
#include "lib/bpe/pairs.h"
#include "lib/bpe/prefix_filter.h"
#include "lib/bpe/token_table.h"
#include "lib/text/borders.h"
#include "lib/text/kind.h"

typedef struct tg_bpe {
    tg_bpe_vocab vocab; /* its arrays are the following, from an archive or a caller */
    uint32_t *ends;
    unsigned char *tokens;
    uint32_t (*merges)[2];
    uint32_t *special;
    uint32_t *added;  /* NULL: an archive without them */
    size_t n_bytes;   /* of tokens */
    unsigned present; /* a bit for each array that has been read */
    int64_t whole_pieces;

    /* Computed from them. */
    uint32_t byte_ids[256]; /* UINT32_MAX: no token is this byte alone */
    bool all_bytes;         /* every byte has a token */
    uint32_t *made;         /* [n_merges] the token that each merge makes */
    size_t longest;         /* bytes of the longest ordinary token */
    bool proper;            /* see tg_bpe_prepare() */
    bool blocks;            /* long pieces are encoded in blocks: it is proper, and no token is very long */
    tg_token_table table;   /* ordinary tokens; empty unless whole pieces are looked up */
    tg_pairs pairs;
    tg_borders borders;        /* of ordinary tokens */
    tg_prefix_filter prefixes; /* of ordinary tokens, if there are blocks */
} tg_bpe;

extern const tg_tokenizer_kind tg_tokenizer_kind_bpe; /* bpe.c */

/* Long pieces are encoded in blocks if no token has more bytes than this. */
#define TG_BPE_BLOCKS_TOKEN ((size_t)1024)

/*
 * Check the arrays, which exist and are within the limits, and compute the rest.
 *
 * Of all merges that make a token t, at most one can ever happen: the last one in the encoding of t's
 * own bytes.  Proof: suppose that in some text adjacent tokens a and b merge.  Every step takes the
 * lowest rank, the leftmost first, so the merges of a's and b's bytes up to then were the same, in the
 * same order, as if the bytes of ab were encoded alone.  Merges that never happen are left out (Llama
 * 3's files have many).
 *
 * A vocabulary is *proper* if each remaining merge has a higher rank than the merges that make its
 * halves.  Every learned vocabulary is proper.  lib/bpe/long_piece.h relies on it.
 *
 * TG_EDATA: the arrays are inconsistent; the message has the ids or the ranks at fault.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_bpe_prepare(tg_bpe *b, tg_err *err);

/* Write the tokens of the single bytes of text [n] into ids [n].  TG_EDATA: a byte has no token;
 * offset: the offset of text, for the message. */
TG_MUST_CHECK tg_status tg_bpe_bytes(const tg_bpe *b, int32_t *ids, const unsigned char *text, size_t n,
                                     uint64_t offset, tg_err *err);

/* The text of a token. */
static inline const unsigned char *tg_bpe_token(const tg_bpe *b, uint32_t id, size_t *n)
{
    return tg_token_text(b->ends, b->tokens, id, n);
}

#endif
