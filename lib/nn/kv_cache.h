/*
 * kv_cache: the keys and values of the tokens that a model has seen, for decoding.
 *
 * Every sequence holds the same number of tokens, `past` <= `keys`.
 */
#ifndef TG_NN_KV_CACHE_H
#define TG_NN_KV_CACHE_H

#include <stddef.h>

#include "lib/base/arena.h"

typedef struct tg_kv_cache {
    float *k, *v; /* [sequences,L,keys,width] each; NULL: no cache */
    size_t sequences, L, keys, width;
    size_t past; /* tokens stored per sequence */
} tg_kv_cache;

/* Place an empty cache in an arena (see arena.h); no cache when sequences is 0. */
void tg_kv_cache_place(tg_arena *arena, tg_kv_cache *cache, size_t sequences, size_t L, size_t keys,
                       size_t width);

/* Offset of layer l of a sequence in k and v, in floats. */
size_t tg_kv_cache_at(const tg_kv_cache *cache, size_t sequence, size_t l);

/* Append the keys k and values v of T new tokens, rows ldk and ldv apart, to layer l of the B sequences from
 * `first` on.  `past` is not advanced: other layers follow. */
void tg_kv_cache_append(tg_kv_cache *cache, size_t l, const float *k, size_t ldk, const float *v, size_t ldv,
                        size_t first, size_t B, size_t T);

/* Copy the `past` tokens of sequence 0 to all others. */
void tg_kv_cache_broadcast(tg_kv_cache *cache);

#endif
