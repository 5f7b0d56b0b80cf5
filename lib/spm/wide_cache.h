/*
 * wide_cache: the ids of short strings that have more of them than an entry of lib/bpe/piece_cache.h holds:
 * names in capitals, words of other languages.
 *
 * A string has one place, where it replaces another.  The cache never grows.
 */
#ifndef TG_SPM_WIDE_CACHE_H
#define TG_SPM_WIDE_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/bpe/piece_key.h"

#define TG_WIDE_IDS ((size_t)12) /* ids of a string, at most */

#ifndef TG_WIDE_BITS
#define TG_WIDE_BITS 12 /* 2^12 entries: 256 KiB */
#endif

typedef struct tg_wide_entry {
    tg_piece_key key;          /* all zeros: empty */
    uint32_t ids[TG_WIDE_IDS]; /* the first has their number in its upper 8 bits */
} tg_wide_entry;

typedef struct tg_wide_cache {
    tg_wide_entry *entries; /* owned */
} tg_wide_cache;

/* TG_ENOMEM; *c can be freed either way. */
TG_MUST_CHECK tg_status tg_wide_cache_create(tg_wide_cache *c, tg_err *err);

/* A zeroed one is fine. */
void tg_wide_cache_free(tg_wide_cache *c);

/* Write the ids of a string, whose hash is `set`; returns how many, 0 if the cache lacks it. */
size_t tg_wide_cache_find(const tg_wide_cache *c, tg_piece_key key, size_t set, int32_t ids[TG_WIDE_IDS]);

/* Add the n ids of a string, n <= TG_WIDE_IDS; each is below 2^24. */
void tg_wide_cache_add(tg_wide_cache *c, tg_piece_key key, size_t set, const int32_t *ids, size_t n);

#endif
