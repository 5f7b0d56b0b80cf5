/*
 * piece_cache: the ids of short pieces that were encoded lately.
 *
 * A piece is its own key, so that a hit is certain.  A set of two entries is one line of the
 * processor's cache; a new piece takes the place of the one in its set that came first.  The cache
 * never grows, and a search looks at one set, whatever the text.
 */
#ifndef TG_TEXT_PIECE_CACHE_H
#define TG_TEXT_PIECE_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

#define TG_PIECE_MAX ((size_t)15) /* bytes of a piece in the cache */
#define TG_PIECE_IDS ((size_t)4)  /* and its ids at most, which are below 2^24 */

#ifndef TG_PIECE_SETS_BITS
#define TG_PIECE_SETS_BITS 15 /* 2^15 sets, 2 MiB */
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

static inline tg_piece_key tg_piece_key_of(const unsigned char *piece, size_t n)
{
    unsigned char bytes[16] = {0};
    tg_piece_key key;

    memcpy(bytes, piece, n);
    bytes[TG_PIECE_MAX] = (unsigned char)n;
    memcpy(key.half, bytes, sizeof key.half);
    return key;
}

static inline size_t tg_piece_set(tg_piece_key key)
{
    const uint64_t mixed =
        key.half[0] * UINT64_C(0x9E3779B97F4A7C15) ^ key.half[1] * UINT64_C(0xC2B2AE3D27D4EB4F);

    return (mixed ^ mixed >> 29) * UINT64_C(0x165667B19E3779F9) >> (64 - TG_PIECE_SETS_BITS);
}

/* The entry of a piece, or NULL. */
static inline const tg_piece_entry *tg_piece_cache_find(const tg_piece_cache *c, tg_piece_key key, size_t set)
{
    const tg_piece_entry *e = c->sets[set];

    for (size_t way = 0; way < 2; way++)
        if (e[way].key.half[0] == key.half[0] && e[way].key.half[1] == key.half[1])
            return &e[way];
    return NULL;
}

/* Keep the n ids of a piece which the cache lacks, n <= TG_PIECE_IDS. */
void tg_piece_cache_add(tg_piece_cache *c, tg_piece_key key, size_t set, const int32_t *ids, size_t n);

#endif
