/*
 * spm: SentencePiece's byte pair encoding, a kind of tokenizer: of Llama 1 and 2, TinyLlama, Mistral, Gemma
 * and llama2.c.
 *
 * In a text, and in its pieces, U+2581 stands for a space.  The text starts as its characters.  Then, as
 * long as two adjacent symbols together are a piece, the pair whose piece has the highest score becomes that
 * piece, the leftmost of equals first.  A character that is no piece becomes the pieces of its bytes or,
 * in a vocabulary without those, the unknown piece, one for a run of such characters.
 *
 * Types of pieces:
 *   normal        merging makes it
 *   unused        likewise, but then it is divided again into the two parts it was made of, and so on
 *   user-defined  always one id, wherever its text occurs: the first place, and the longest there, is found
 *                 before any merging, and no merge crosses its ends
 *   byte          one byte of a character that is no piece: all 256, or none
 *   unknown       the first stands for characters, if there are no bytes
 *   control       no text produces it, unless the encoder looks for special tokens
 *
 * Bytes that are not UTF-8 are each a character that is no piece.
 *
 * Archive: tokenizer/kind = "sentencepiece", tokenizer/vocab_size, and
 *   tokenizer/dummy_prefix |S  one of TG_SPM_PREFIXES
 *   tokenizer/ends         <u4 [V]  piece i is tokens[ends[i-1]] .. tokens[ends[i]]; ends[-1] = 0
 *   tokenizer/tokens       |u1 [ends[V-1]]  with U+2581 for spaces; of a byte, that byte
 *   tokenizer/scores       <f4 [V]
 *   tokenizer/types        |u1 [V]  tg_spm_type
 *   tokenizer/special      <u4 [S]  ascending; each is control or unknown
 *
 * Source: Kudo and Richardson 2018, arXiv:1808.06226.
 */
#ifndef TG_SPM_SPM_H
#define TG_SPM_SPM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/bpe/pairs.h"
#include "lib/text/tokenizer.h"

#define TG_SPM_SPACE "\xE2\x96\x81" /* U+2581 */
#define TG_SPM_SPACE_BYTES 3

typedef enum tg_spm_type {
    TG_SPM_NORMAL = 1,
    TG_SPM_UNKNOWN,
    TG_SPM_CONTROL,
    TG_SPM_USER_DEFINED,
    TG_SPM_UNUSED,
    TG_SPM_BYTE,
} tg_spm_type;

/* Where a space is put before the text.  A part is what lies between special tokens; except with the first
 * two, user-defined pieces also divide a text into parts. */
typedef enum tg_spm_prefix {
    TG_SPM_PREFIX_NONE,
    TG_SPM_PREFIX_PARTS,     /* before each part, which may begin with a user-defined piece */
    TG_SPM_PREFIX_DIVIDED,   /* before each part */
    TG_SPM_PREFIX_METASPACE, /* before each part that does not begin with a space */
    TG_SPM_PREFIX_FIRST,     /* likewise, but only where the part begins the text */
} tg_spm_prefix;
#define TG_SPM_PREFIXES "none|parts|divided|metaspace|first" /* in that order */

/* A vocabulary, as a reader provides it. */
typedef struct tg_spm_vocab {
    tg_spm_prefix prefix;

    /* Piece i is tokens[ends[i-1]] .. tokens[ends[i]], with ends[-1] = 0.  An empty piece is an id that no
     * text produces.  Normal, unused and user-defined ones are UTF-8, and no two of them are equal. */
    size_t n;                    /* ids */
    const uint32_t *ends;        /* [n] */
    const unsigned char *tokens; /* [ends[n-1]] */
    const float *scores;         /* [n] finite */
    const unsigned char *types;  /* [n] */

    /* Ids that a text produces only if the encoder was told to look for them. */
    size_t n_special;
    const uint32_t *special; /* [n_special], ascending */
} tg_spm_vocab;

/*
 * A tokenizer of kind "sentencepiece" from a copy of the vocabulary, to be freed.
 * TG_EDATA: the vocabulary is inconsistent; the message has the ids at fault.  TG_ENOMEM.
 * *tok is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_spm_create(const tg_tokenizer **tok, const tg_spm_vocab *vocab, tg_err *err);

/* The vocabulary of a tokenizer of this kind, valid as long as tok; NULL for other kinds. */
const tg_spm_vocab *tg_spm_vocab_of(const tg_tokenizer *tok);

/* The two pieces that merge into a piece of such a tokenizer; false: no text makes it by merging. */
bool tg_spm_halves(const tg_tokenizer *tok, uint32_t id, uint32_t halves[2]);

/*
 * All merges that can happen, *n of them, by the scores of what they make, the highest first, then by its id:
 * one for each piece that a text makes by merging.  A half that is not below the number of ids is a character
 * that is no piece.  Valid as long as tok, which is of this kind.
 */
const tg_pair *tg_spm_merge_list(const tg_tokenizer *tok, size_t *n);

#endif
