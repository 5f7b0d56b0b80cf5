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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

#define TG_PIECE_MAX ((size_t)15) /* bytes of a piece in the cache */
#define TG_PIECE_IDS ((size_t)4)  /* and its ids at most, which are below 2^24 */

#ifndef TG_PIECE_SETS_BITS
#define TG_PIECE_SETS_BITS 16 /* 2^16 sets: 4 MiB */
#endif

/* A piece: its bytes, zeros, and its length in the last byte. */
typedef struct tg_piece_key {
    uint64_t half[2];
} tg_piece_key;

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

/* The key of a piece; for n > TG_PIECE_MAX a key that no piece in the cache has. */
static inline tg_piece_key tg_piece_key_of(const unsigned char *piece, size_t n)
{
    unsigned char bytes[16] = {0};
    tg_piece_key key;

    memcpy(bytes, piece, n <= TG_PIECE_MAX ? n : TG_PIECE_MAX);
    bytes[TG_PIECE_MAX] = (unsigned char)(n <= TG_PIECE_MAX ? n : TG_PIECE_MAX + 1);
    memcpy(key.half, bytes, sizeof key.half);
    return key;
}

/* The same, if 16 bytes can be read at `piece`. */
static inline tg_piece_key tg_piece_key_near(const unsigned char *piece, size_t n)
{
    /* At ones + 16 - n, n bytes are 0xFF, and the rest are 0. */
    static const unsigned char ones[32] = {
        0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
    };
    const size_t length = n <= TG_PIECE_MAX ? n : TG_PIECE_MAX + 1;
    tg_piece_key key, mask;

    memcpy(key.half, piece, sizeof key.half);
    memcpy(mask.half, ones + 16 - length, sizeof mask.half);
    key.half[0] &= mask.half[0];
    key.half[1] = (key.half[1] & mask.half[1]) | (uint64_t)length << 56;
    return key;
}

/* The key of a piece's part, which may differ from a piece with the same bytes. */
static inline tg_piece_key tg_piece_key_part(tg_piece_key key)
{
    key.half[1] |= (uint64_t)1 << 63;
    return key;
}

static inline bool tg_piece_same(tg_piece_key a, tg_piece_key b)
{
    return ((a.half[0] ^ b.half[0]) | (a.half[1] ^ b.half[1])) == 0;
}

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

/* Move a piece to the first place of its set; false: the cache lacks it. */
bool tg_piece_cache_promote(tg_piece_cache *c, tg_piece_key key, size_t set);

/* Add the n ids of a piece that the cache lacks, n <= TG_PIECE_IDS. */
void tg_piece_cache_add(tg_piece_cache *c, tg_piece_key key, size_t set, const int32_t *ids, size_t n);

#endif
