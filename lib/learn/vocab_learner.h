/*
 * vocab_learner: the second half of learning a byte-level BPE vocabulary: which pairs are merged.
 *
 * Ids 0 to 255 are the bytes.  Each piece begins as its bytes.  Then, repeatedly, the pair of
 * adjacent ids that is most frequent in all pieces (each weighted by its count; "aaa" has the pair
 * (a, a) twice) becomes the next id, everywhere, from left to right.  Of equally frequent pairs the
 * one with the smallest left id is taken, then the one with the smallest right id.
 *
 *     tg_vocab_learner_create(&v, l, &settings, &err)
 *     while (tg_vocab_learner_best(v, &pair))
 *         tg_vocab_learner_merge(v, &err)
 *     tg_vocab_learner_vocab(v, &vocab), tg_bpe_create(&tok, &vocab, &err)
 *     tg_vocab_learner_free(v)
 *
 * Time: each merge costs time proportional to the number of places where its pair occurs, whatever the
 * length of the pieces.  Memory: 8 bytes per byte of the distinct pieces, and up to 12 more for the
 * places of the pairs.
 *
 * Source: Sennrich et al. 2016, arXiv:1508.07909.
 */
#ifndef TG_LEARN_VOCAB_LEARNER_H
#define TG_LEARN_VOCAB_LEARNER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/bpe/bpe.h"
#include "lib/learn/learn.h"

#define TG_VOCAB_MIN_COUNT 2 /* a pair that occurs once saves nothing */

typedef struct tg_vocab_learner tg_vocab_learner;

typedef struct tg_vocab_learner_settings {
    size_t n;                   /* ids, special ones included; at most TG_BPE_TOKENS_MAX */
    size_t min_count;           /* pairs that occur fewer times are not merged; 0 means 2 */
    size_t token_max;           /* maximum bytes per token; 0 means TG_BPE_TOKEN_MAX */
    const char *const *special; /* [n_special]: the texts of the last ids; they must outlive v */
    size_t n_special;
    bool watch; /* tg_vocab_learner_pairs() includes pairs too rare to be merged, and
                   tg_vocab_learner_piece() works; costs time and memory */
} tg_vocab_learner_settings;

/* Check the settings.  TG_EUSAGE: n is too small or too large; there are more than 1024 special tokens,
 * or one is empty, too long or given twice. */
TG_MUST_CHECK tg_status tg_vocab_learner_check(const tg_vocab_learner_settings *settings, tg_err *err);

/*
 * Create a learner, to be freed, from the pieces that l has counted up to the end of a text.  l is not
 * needed afterwards.  Fails like tg_vocab_learner_check(); TG_EDATA: there is no text, or its distinct
 * pieces exceed 4 GiB.  TG_ENOMEM.  *v is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_vocab_learner_create(tg_vocab_learner **v, tg_learn *l,
                                                const tg_vocab_learner_settings *settings, tg_err *err);

typedef struct tg_vocab_pair {
    uint32_t left, right;
    uint64_t count;
} tg_vocab_pair;

/* The pair to be merged next; false: the vocabulary is complete, or no pair is frequent enough.
 * (A pair whose token would be too long is passed over.) */
bool tg_vocab_learner_best(tg_vocab_learner *v, tg_vocab_pair *best);

/* The number of pairs passed over. */
size_t tg_vocab_learner_passed_over(const tg_vocab_learner *v);

/* Merge tg_vocab_learner_best(); it exists.  TG_ENOMEM: only tg_vocab_learner_free() is legal. */
TG_MUST_CHECK tg_status tg_vocab_learner_merge(tg_vocab_learner *v, tg_err *err);

/* The number of ids so far, without special ones: the next merge's id. */
size_t tg_vocab_learner_size(const tg_vocab_learner *v);

/* The text of an id below tg_vocab_learner_size(): *n bytes, valid until the next merge. */
const unsigned char *tg_vocab_learner_token(const tg_vocab_learner *v, uint32_t id, size_t *n);

/* The vocabulary so far, special tokens included, valid until v changes. */
void tg_vocab_learner_vocab(tg_vocab_learner *v, tg_bpe_vocab *vocab);

/* Bytes of memory in use. */
size_t tg_vocab_learner_memory(const tg_vocab_learner *v);

/* NULL is fine. */
void tg_vocab_learner_free(tg_vocab_learner *v);

/* ---- for watching: settings.watch is set */

/* The most frequent pairs, at most max, starting with the one to be merged; pairs too rare to be
 * merged are included.  Returns their number. */
size_t tg_vocab_learner_pairs(tg_vocab_learner *v, tg_vocab_pair *pairs, size_t max);

/* The number of distinct pieces, ordered by descending count, then by their bytes. */
size_t tg_vocab_learner_pieces(const tg_vocab_learner *v);

/* Piece i in its current state: its count, and at most max of its ids.  Returns the number of its ids. */
size_t tg_vocab_learner_piece(const tg_vocab_learner *v, size_t i, uint64_t *count, uint32_t *ids,
                              size_t max);

#endif
