/*
 * pairs: which two tokens are a merge, and what they become.
 *
 * A rank is found from two ids in one access to a table of 4 bytes per slot where there is none,
 * which is the usual case, and in a few accesses where there is one.
 */
#ifndef TG_TEXT_PAIRS_H
#define TG_TEXT_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

#define TG_RANK_NONE UINT32_MAX /* above every rank */

typedef struct tg_pairs {
    const uint32_t (*halves)[2]; /* [n] in order of rank; the caller's */
    const uint32_t *made;        /* [n] their tokens; the caller's */
    uint32_t *slots;             /* 0, or rank + 1 under the upper bits of the pair's hash; owned */
    size_t last;                 /* the index of the last slot */
    unsigned shift;              /* from the hash to the index of a slot */
    uint64_t key;
    uint32_t *bytes; /* [256 * 256] the ranks of pairs of bytes; owned */
} tg_pairs;

/* Bits of a slot: the rank's, and the hash's above them. */
#define TG_PAIRS_RANK_BITS 23
#define TG_PAIRS_MARK_BITS (32 - TG_PAIRS_RANK_BITS)
#define TG_PAIRS_MAX (((size_t)1 << (TG_PAIRS_RANK_BITS - 1)))

/*
 * The merges of `halves` [n], n <= TG_PAIRS_MAX, for which live[rank] (NULL: all).  byte_ids [256]:
 * the bytes' tokens, or UINT32_MAX.  key: a number that whoever chose the merges could not know,
 * against merges that are chosen to collide.  TG_EDATA: a pair occurs twice among them, with the
 * ranks.  TG_ENOMEM.  *p can be freed either way.
 */
TG_MUST_CHECK tg_status tg_pairs_create(tg_pairs *p, const uint32_t (*halves)[2], const uint32_t *made,
                                        size_t n, const bool *live, const uint32_t byte_ids[256],
                                        uint64_t key, tg_err *err);

/* A zeroed one is fine. */
void tg_pairs_free(tg_pairs *p);

static inline uint64_t tg_pairs_hash(const tg_pairs *p, uint32_t a, uint32_t b)
{
    return ((uint64_t)a << 32 | b) * p->key;
}

/* The bits of the hash after those of the index, in their place in a slot. */
static inline uint32_t tg_pairs_mark(const tg_pairs *p, uint64_t hash)
{
    return (uint32_t)(hash >> (p->shift - TG_PAIRS_MARK_BITS)) << TG_PAIRS_RANK_BITS;
}

/* The rank of the merge of a and b; TG_RANK_NONE: they are no merge. */
static inline uint32_t tg_pairs_rank(const tg_pairs *p, uint32_t a, uint32_t b)
{
    const uint64_t hash = tg_pairs_hash(p, a, b);
    const uint32_t mark = tg_pairs_mark(p, hash);
    uint32_t slot;

    for (size_t i = hash >> p->shift; (slot = p->slots[i]) != 0; i = (i + 1) & p->last) {
        const uint32_t rank = (slot ^ mark) - 1;

        if (rank >> TG_PAIRS_RANK_BITS == 0 && p->halves[rank][0] == a && p->halves[rank][1] == b)
            return rank;
    }
    return TG_RANK_NONE;
}

#endif
