/*
 * vocab_builder: the common part of the readers of other projects' vocabularies: tokens in any
 * order, then merges by the text of their halves, then the tokenizer.
 *
 *     tg_vocab_builder b = {.split = split};
 *     tg_vocab_add(&b, id, text, n, role, &err) ...
 *     tg_vocab_arrange(&b, &err)
 *     tg_vocab_merge(&b, &halves, &err) ...
 *     tg_vocab_build(&tok, &b, status, &err)                         in any case
 *
 * Errors: TG_EDATA, with the token at fault; TG_ENOMEM.  Memory: proportional to the tokens added and
 * to the highest id; both are limited (lib/bpe/bpe.h).
 */
#ifndef TG_VOCAB_VOCAB_BUILDER_H
#define TG_VOCAB_VOCAB_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/bpe/bpe.h"
#include "lib/bpe/token_table.h"
#include "lib/text/tokenizer.h"

typedef struct tg_vocab_builder {
    tg_split split; /* this and the next two, the caller's, are those of a tg_bpe_vocab */
    tg_normalizer normalizer;
    bool whole_pieces;

    struct tg_vocab_entry {
        uint32_t id, n; /* n: bytes, from text[at] on */
        size_t at;
    } * entry; /* [n_entries] as they came */
    size_t n_entries, entry_capacity;
    unsigned char *text;
    size_t n_text, text_capacity;
    struct tg_vocab_ids {
        uint32_t *id; /* [n] */
        size_t n, capacity;
    } special, added;

    /* after tg_vocab_arrange(), as in tg_bpe_vocab */
    size_t n;
    uint32_t *ends;
    unsigned char *tokens;
    tg_token_table table; /* of the ordinary tokens */
    uint32_t (*merges)[2];
    size_t n_merges, merge_capacity;

    unsigned char *scratch; /* [2 * TG_BPE_TOKEN_MAX * TG_BYTE_MAP_MAX] the bytes of two halves; owned */
} tg_vocab_builder;

/* What a token is: as in tg_bpe_vocab. */
typedef enum tg_token_role { TG_TOKEN_ORDINARY, TG_TOKEN_SPECIAL, TG_TOKEN_ADDED } tg_token_role;

/* Add a token.  Refuses an id of TG_BPE_TOKENS_MAX or more, and a token that is empty or longer than
 * TG_BPE_TOKEN_MAX. */
TG_MUST_CHECK tg_status tg_vocab_add(tg_vocab_builder *b, size_t id, const void *text, size_t n,
                                     tg_token_role role, tg_err *err);

/* The same for an ordinary token written as in GPT-2's files (lib/vocab/byte_map.h). */
TG_MUST_CHECK tg_status tg_vocab_add_mapped(tg_vocab_builder *b, size_t id, const char *text, size_t n,
                                            tg_err *err);

/* The two halves of a merge, written so. */
typedef struct tg_vocab_halves {
    const char *left, *right;
    size_t n_left, n_right;
} tg_vocab_halves;

/* Divide the text of a merge, "A B"; refuses another number of spaces. */
TG_MUST_CHECK tg_status tg_vocab_divide(tg_vocab_halves *h, const char *text, size_t n, tg_err *err);

/* Add the token that a merge makes. */
TG_MUST_CHECK tg_status tg_vocab_add_merged(tg_vocab_builder *b, size_t id, const tg_vocab_halves *h,
                                            tg_err *err);

/* Call after the last token.  Refuses an id that was added twice, and two equal tokens. */
TG_MUST_CHECK tg_status tg_vocab_arrange(tg_vocab_builder *b, tg_err *err);

/* Append a merge.  Refuses halves that are not tokens, or whose concatenation is not one. */
TG_MUST_CHECK tg_status tg_vocab_merge(tg_vocab_builder *b, const tg_vocab_halves *h, tg_err *err);

/* Refuse a vocabulary that cannot express all bytes; the message has the first that it lacks. */
TG_MUST_CHECK tg_status tg_vocab_check_bytes(const tg_vocab_builder *b, tg_err *err);

/* Instead of tg_vocab_arrange() and merges: derive these from the ids (lib/vocab/rank_merges.h).  Refuses a
 * vocabulary that cannot express all bytes. */
TG_MUST_CHECK tg_status tg_vocab_arrange_by_rank(tg_vocab_builder *b, tg_err *err);

/* Free the builder and, unless `status` is a failure, make the tokenizer, which is to be freed; NULL after a
 * failure.  It is of kind "bytes" if it is equal to that kind.  Returns `status`, or the failure. */
TG_MUST_CHECK tg_status tg_vocab_build(const tg_tokenizer **tok, tg_vocab_builder *b, tg_status status,
                                       tg_err *err);

/* Free a builder that is not built.  A zeroed one is fine. */
void tg_vocab_builder_free(tg_vocab_builder *b);

#endif
