/*
 * kv_cache: the keys and values of the tokens that a model has seen, for decoding.
 *
 * Every sequence holds the same number of tokens, `past`, below `keys`.
 */
#ifndef TG_NN_KV_CACHE_H
#define TG_NN_KV_CACHE_H

#include <stddef.h>

#include "lib/base/arena.h"

typedef struct tg_kv_cache {
    float *k, *v; /* [sequences,L,keys,C] each; NULL: no cache */
    size_t sequences, L, keys, C;
    size_t past; /* tokens of each sequence in it */
} tg_kv_cache;

/* Place an empty cache in an arena (see arena.h); none when sequences is 0. */
void tg_kv_cache_place(tg_arena *arena, tg_kv_cache *cache, size_t sequences, size_t L, size_t keys, size_t C);

/* Where layer l of a sequence begins, in floats from k or v. */
size_t tg_kv_cache_at(const tg_kv_cache *cache, size_t sequence, size_t l);

/* Store the keys and values of T new tokens of B sequences from `first` on, the last two thirds
 * of the rows of qkv [B,T,3C], after those of layer l.  `past` stays: other layers follow. */
void tg_kv_cache_append(tg_kv_cache *cache, size_t l, const float *qkv, size_t first, size_t B, size_t T);

/* Copy sequence 0 to all others. */
void tg_kv_cache_broadcast(tg_kv_cache *cache);

#endif
