/*
 * pairs: which pairs of tokens have a merge, and the merged token.
 *
 * A cuckoo table: each merge is in one of two slots, which depend on its halves.  A search reads both
 * without a branch, because no processor could predict which pairs of a text have a merge.
 */
#ifndef TG_BPE_PAIRS_H
#define TG_BPE_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

#define TG_RANK_NONE UINT32_MAX /* above every rank */
#define TG_RANK_BITS 22
#define TG_PAIRS_MAX (((size_t)1 << TG_RANK_BITS) - 1)

/* A merge: its halves and its token.  16 bytes, so that no merge spans two cache lines. */
typedef struct tg_pair {
    uint32_t left, right, made, unused;
} tg_pair;

typedef struct tg_pairs {
    tg_pair *pairs;  /* [n] in order of rank; owned */
    uint32_t *slots; /* rank + 1 below some bits of the pair's hash (its mark), or 0; owned */
    unsigned shift;  /* from a hash to a slot's index */
    uint64_t key[2]; /* of the two hashes */
    uint32_t *bytes; /* [256 * 256] the ranks of pairs of bytes; owned */
} tg_pairs;

/*
 * Build the table of the merges of `halves` [n], n <= TG_PAIRS_MAX, which make the tokens `made` [n];
 * only merges with live[rank] are included (NULL: all).  byte_ids [256]: the bytes' tokens, or
 * UINT32_MAX.  secret: a number that whoever chose the merges could not know, so that they cannot be
 * chosen to collide.  TG_EDATA: a pair occurs twice; the message has the ranks.  TG_ENOMEM.  *p can be
 * freed either way.
 */
TG_MUST_CHECK tg_status tg_pairs_create(tg_pairs *p, const uint32_t (*halves)[2], const uint32_t *made,
                                        size_t n, const bool *live, const uint32_t byte_ids[256],
                                        uint64_t secret, tg_err *err);

/* A zeroed one is fine. */
void tg_pairs_free(tg_pairs *p);

/* The rank of the merge of a and b; TG_RANK_NONE: they have no merge. */
uint32_t tg_pairs_rank(const tg_pairs *p, uint32_t a, uint32_t b);

#define TG_MARK_BITS (32 - TG_RANK_BITS)

/* The mark of a hash: the bits after those of the slot's index, shifted to their position in a slot. */
static inline uint32_t tg_pairs_mark(const tg_pairs *p, uint64_t hash)
{
    return (uint32_t)(hash >> (p->shift - TG_MARK_BITS)) << TG_RANK_BITS;
}

/* The rank in the slot of a hash; TG_PAIRS_MAX or more if it is empty or has another mark. */
static inline uint32_t tg_pairs_slot(const tg_pairs *p, uint64_t hash)
{
    return (p->slots[hash >> p->shift] ^ tg_pairs_mark(p, hash)) - 1;
}

/*
 * Like tg_pairs_rank(), but about once in a thousand searches the result is wrong: a rank although the
 * pair has a higher one or none.  Compare the merge's halves before using it.
 */
static inline uint32_t tg_pairs_guess(const tg_pairs *p, uint32_t a, uint32_t b)
{
    const uint64_t pair = (uint64_t)a << 32 | b;
    const uint32_t x = tg_pairs_slot(p, pair * p->key[0]), y = tg_pairs_slot(p, pair * p->key[1]);
    const uint32_t rank = x < y ? x : y;

    return rank < TG_PAIRS_MAX ? rank : TG_RANK_NONE;
}

#endif
