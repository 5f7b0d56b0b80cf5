/*
 * bpe: byte-level byte pair encoding, a kind of tokenizer.
 *
 * Added tokens are found in a text (lib/tg/tokenizer.h).  What is between them is normalised and split into
 * pieces (lib/split/split.h), and each piece is encoded: it starts as one token per byte; then, as long as
 * some adjacent pair has a merge, the pair of the lowest rank becomes one token, the leftmost of equals
 * first.
 *
 * Archive: tokenizer/kind = "bpe", tokenizer/vocab_size, and
 *   tokenizer/split        |S  tg_split_name()
 *   tokenizer/normalizer   |S  "none" or "nfc"
 *   tokenizer/whole_pieces <i8 0 or 1
 *   tokenizer/ends         <u4 [V]    token i is tokens[ends[i-1]] .. tokens[ends[i]]; ends[-1] = 0
 *   tokenizer/tokens       |u1 [ends[V-1]]
 *   tokenizer/merges       <u4 [M,2]  ids of the left and the right half, in order of rank
 *   tokenizer/special      <u4 [S]    ascending
 *   tokenizer/added        <u4 [A]    ascending, none of them special; only if A > 0
 *
 * Source: Sennrich et al. 2016, arXiv:1508.07909; Radford et al. 2019 (GPT-2) for bytes.
 */
#ifndef TG_BPE_BPE_H
#define TG_BPE_BPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/split/split.h"
#include "lib/text/tokenizer.h"

#ifndef TG_BPE_TOKEN_MAX                   /* tests/fuzz/limits.h */
#define TG_BPE_TOKEN_MAX ((size_t)1 << 16) /* bytes of one token */
#endif
#define TG_BPE_TOKENS_MAX ((size_t)1 << 22) /* ids */
#define TG_BPE_BYTES_MAX ((size_t)1 << 28)  /* bytes of all tokens */
#define TG_BPE_MERGES_MAX (((size_t)1 << 22) - 1)

typedef enum tg_normalizer { TG_NORMALIZER_NONE, TG_NORMALIZER_NFC } tg_normalizer;

/* A vocabulary, as a learner or a reader provides it. */
typedef struct tg_bpe_vocab {
    tg_split split;
    tg_normalizer normalizer;

    /* Token i is tokens[ends[i-1]] .. tokens[ends[i]], with ends[-1] = 0.  An empty token is an id
     * that no text produces.  No two ordinary tokens are equal, and no two of the others. */
    size_t n;                    /* ids */
    const uint32_t *ends;        /* [n] */
    const unsigned char *tokens; /* [ends[n-1]] */

    /* The ids of each merge's halves, in order of rank.  No pair occurs twice, and the two halves
     * together are an ordinary token. */
    size_t n_merges;
    const uint32_t (*merges)[2]; /* [n_merges] */

    /* Ids that a text produces only if the encoder was told to look for them. */
    size_t n_special;
    const uint32_t *special; /* [n_special], ascending */

    /* Ids of tokens that are found in every text, before it is normalised and split.  Each has 1 to
     * TG_SPECIAL_MAX bytes (lib/text/special.h). */
    size_t n_added;
    const uint32_t *added; /* [n_added], ascending, none of them special */

    /* Whether a piece that equals a token becomes that token even if no merges lead to it. */
    bool whole_pieces;
} tg_bpe_vocab;

/*
 * A tokenizer of kind "bpe" from a copy of the vocabulary, to be freed.
 * TG_EDATA: the vocabulary is inconsistent; the message has the ids at fault.  TG_ENOMEM.
 * *tok is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_bpe_create(const tg_tokenizer **tok, const tg_bpe_vocab *vocab, tg_err *err);

/* The vocabulary of a tokenizer of this kind, valid as long as tok; NULL for other kinds. */
const tg_bpe_vocab *tg_bpe_vocab_of(const tg_tokenizer *tok);

#endif
