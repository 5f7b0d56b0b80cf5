/*
 * piece_cache: the ids of short pieces that were encoded recently.
 *
 * A piece is its own key, so a hit is certain.  A set of two entries is one line of the processor's
 * cache.  A new piece enters the second place of its set and moves to the first when it recurs, so
 * pieces that occur once do not evict the others.  The cache never grows, and a search reads only one
 * set, whatever the text.
 */
#ifndef TG_BPE_PIECE_CACHE_H
#define TG_BPE_PIECE_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/bpe/piece_key.h"

#define TG_PIECE_IDS ((size_t)4) /* ids of a piece in the cache, at most; they are below 2^24 */

#ifndef TG_PIECE_SETS_BITS
#define TG_PIECE_SETS_BITS 16 /* 2^16 sets: 4 MiB */
#endif

typedef struct tg_piece_entry {
    tg_piece_key key;           /* all zeros: empty */
    uint32_t ids[TG_PIECE_IDS]; /* the first has their number in its upper 8 bits */
} tg_piece_entry;

typedef struct tg_piece_cache {
    tg_arena arena;
    tg_piece_entry (*sets)[2];
} tg_piece_cache;

/* TG_ENOMEM; *c can be freed either way. */
TG_MUST_CHECK tg_status tg_piece_cache_create(tg_piece_cache *c, tg_err *err);

/* A zeroed one is fine. */
void tg_piece_cache_free(tg_piece_cache *c);

/* The set that holds a piece if it is in the cache. */
static inline size_t tg_piece_set(tg_piece_key key)
{
    const uint64_t mixed =
        key.half[0] * UINT64_C(0x9E3779B97F4A7C15) + key.half[1] * UINT64_C(0xC2B2AE3D27D4EB4F);

    return mixed >> (64 - TG_PIECE_SETS_BITS);
}

/* Write TG_PIECE_IDS ids, the entry's first; returns how many the entry has. */
static inline size_t tg_piece_ids(const tg_piece_entry *e, int32_t *ids)
{
    typedef uint32_t four __attribute__((vector_size(sizeof e->ids)));
    const four mask = {0xFFFFFF, 0xFFFFFF, 0xFFFFFF, 0xFFFFFF};
    four x;

    memcpy(&x, e->ids, sizeof x);
    x &= mask;
    memcpy(ids, &x, sizeof x);
    return e->ids[0] >> 24;
}

/* The entry of a piece, which moves to the first place of its set; NULL: the cache lacks it. */
const tg_piece_entry *tg_piece_cache_find(tg_piece_cache *c, tg_piece_key key);

/* Add the n ids of a piece that the cache lacks, n <= TG_PIECE_IDS. */
void tg_piece_cache_add(tg_piece_cache *c, tg_piece_key key, const int32_t *ids, size_t n);

#endif
