#include "lib/nn/kv_cache.h"

#include <string.h>

void tg_kv_cache_place(tg_arena *arena, tg_kv_cache *cache, size_t sequences, size_t L, size_t keys,
                       size_t width)
{
    *cache = (tg_kv_cache){.sequences = sequences, .L = L, .keys = keys, .width = width};
    if (sequences == 0)
        return;
    cache->k = tg_arena_take_rows(arena, sequences, L * keys * width, sizeof(float));
    cache->v = tg_arena_take_rows(arena, sequences, L * keys * width, sizeof(float));
}

size_t tg_kv_cache_at(const tg_kv_cache *cache, size_t sequence, size_t l)
{
    return (sequence * cache->L + l) * cache->keys * cache->width;
}

/* T rows, ld apart, to where they follow one another. */
static void copy_rows(float *to, const float *rows, size_t ld, size_t T, size_t width)
{
    for (size_t t = 0; t < T; t++)
        memcpy(to + t * width, rows + t * ld, width * sizeof *to);
}

void tg_kv_cache_append(tg_kv_cache *cache, size_t l, const float *k, size_t ldk, const float *v, size_t ldv,
                        size_t first, size_t B, size_t T)
{
    const size_t width = cache->width;

    for (size_t b = 0; b < B; b++) {
        const size_t to = tg_kv_cache_at(cache, first + b, l) + cache->past * width;

        copy_rows(cache->k + to, k + b * T * ldk, ldk, T, width);
        copy_rows(cache->v + to, v + b * T * ldv, ldv, T, width);
    }
}

void tg_kv_cache_broadcast(tg_kv_cache *cache)
{
    const size_t bytes = cache->past * cache->width * sizeof(float);

    for (size_t s = 1; s < cache->sequences; s++) {
        for (size_t l = 0; l < cache->L; l++) {
            memcpy(cache->k + tg_kv_cache_at(cache, s, l), cache->k + tg_kv_cache_at(cache, 0, l), bytes);
            memcpy(cache->v + tg_kv_cache_at(cache, s, l), cache->v + tg_kv_cache_at(cache, 0, l), bytes);
        }
    }
}
