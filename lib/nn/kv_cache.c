#include "lib/nn/kv_cache.h"

#include <string.h>

#include "lib/nn/slice.h"

void tg_kv_cache_place(tg_arena *arena, tg_kv_cache *cache, size_t sequences, size_t L, size_t keys, size_t C)
{
    *cache = (tg_kv_cache){.sequences = sequences, .L = L, .keys = keys, .C = C};
    if (sequences == 0)
        return;
    cache->k = tg_arena_take_rows(arena, sequences, L * keys * C, sizeof(float));
    cache->v = tg_arena_take_rows(arena, sequences, L * keys * C, sizeof(float));
}

size_t tg_kv_cache_at(const tg_kv_cache *cache, size_t sequence, size_t l)
{
    return (sequence * cache->L + l) * cache->keys * cache->C;
}

void tg_kv_cache_append(tg_kv_cache *cache, size_t l, const float *qkv, size_t first, size_t B, size_t T)
{
    const size_t C = cache->C;

    for (size_t b = 0; b < B; b++) {
        const float *qkv_b = qkv + b * T * 3 * C;
        const size_t to = tg_kv_cache_at(cache, first + b, l) + cache->past * C;

        tg_slice_forward(cache->k + to, qkv_b, T, 3 * C, C, C);
        tg_slice_forward(cache->v + to, qkv_b, T, 3 * C, 2 * C, C);
    }
}

void tg_kv_cache_broadcast(tg_kv_cache *cache)
{
    const size_t bytes = cache->past * cache->C * sizeof(float);

    for (size_t s = 1; s < cache->sequences; s++) {
        for (size_t l = 0; l < cache->L; l++) {
            memcpy(cache->k + tg_kv_cache_at(cache, s, l), cache->k + tg_kv_cache_at(cache, 0, l), bytes);
            memcpy(cache->v + tg_kv_cache_at(cache, s, l), cache->v + tg_kv_cache_at(cache, 0, l), bytes);
        }
    }
}
