/*
 * spm_state: a vocabulary as the encoder of kind "sentencepiece" uses it.
 */
#ifndef TG_SPM_SPM_STATE_H
#define TG_SPM_SPM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bpe/pairs.h"
#include "lib/bpe/prefix_filter.h"
#include "lib/bpe/token_table.h"
#include "lib/spm/spm.h"
#include "lib/spm/spm_merge.h"
#include "lib/spm/symbols.h"
#include "lib/text/kind.h"
#include "lib/text/special.h"

typedef struct tg_spm {
    tg_spm_vocab vocab; /* its arrays are the following, from an archive or a caller */
    uint32_t *ends;
    unsigned char *tokens;
    float *scores;
    unsigned char *types;
    uint32_t *special;
    size_t n_bytes, n_scores, n_types; /* elements of tokens, scores, types */
    unsigned present;                  /* a bit for each array that has been read */

    /* Computed from them.  Symbols are the ids, then characters that occur in pieces but are none. */
    size_t n_symbols;
    uint32_t *text_ends; /* [n_symbols] the text of each, with spaces for U+2581 */
    unsigned char *text;
    uint32_t *order;   /* [n_symbols] of what merging may make: its place among the scores, equals alike */
    uint32_t *made_by; /* [n_symbols] the merge that makes each, TG_RANK_NONE: none does */
    tg_pairs pairs;    /* the merges that can happen */
    size_t n_merges;   /* so many */
    tg_spm_symbols symbols;
    size_t longest; /* bytes of the longest text that merging makes */
    bool blocks;    /* long strings are encoded in blocks (long_string.h) */
    uint32_t tail;  /* but merges of this order after that (tail.h); TG_RANK_NONE: there are none */
    tg_prefix_filter prefixes; /* of what merging makes in blocks, if there are blocks */
    bool divides;              /* some piece that merging makes is unused */
    tg_specials user_defined;
    bool bytes; /* there are byte pieces */
    int32_t byte_ids[256];
    int32_t unknown; /* id, or -1 */
} tg_spm;

extern const tg_tokenizer_kind tg_tokenizer_kind_spm; /* spm.c */

/* Long strings are encoded in blocks if no piece has more bytes than this. */
#define TG_SPM_BLOCKS_PIECE ((size_t)1024)

/*
 * Check the arrays, which exist and are within the limits, and compute the rest.
 *
 * Each piece is made by at most one merge, in whatever text: the last one when its own characters are merged
 * alone.  For until then no merge has crossed its ends, so the merges within it were the same, in the same
 * order.  Pieces whose own characters do not merge into them never occur.
 *
 * TG_EDATA: the arrays are inconsistent; the message has the ids at fault.  TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_spm_prepare(tg_spm *s, tg_err *err);

/* The text of a symbol. */
static inline const unsigned char *tg_spm_text(const tg_spm *s, uint32_t symbol, size_t *n)
{
    return tg_token_text(s->text_ends, s->text, symbol, n);
}

/* Whether merging may make a piece of this type, or start from it. */
static inline bool tg_spm_merges(unsigned char type)
{
    return type == TG_SPM_NORMAL || type == TG_SPM_UNUSED;
}

/* Whether user-defined pieces divide a text into parts. */
static inline bool tg_spm_divides(const tg_spm *s)
{
    return s->vocab.prefix >= TG_SPM_PREFIX_DIVIDED && s->user_defined.n > 0;
}

/* Whether a prefix comes before a text that follows `what` (unless it begins with a space, in some modes). */
static inline bool tg_spm_adds_space(const tg_spm *s, tg_text_follows what)
{
    switch (s->vocab.prefix) {
    case TG_SPM_PREFIX_NONE:
        return false;
    case TG_SPM_PREFIX_FIRST:
        return what == TG_FOLLOWS_NOTHING;
    default:
        return what != TG_FOLLOWS_CUT;
    }
}

#endif
