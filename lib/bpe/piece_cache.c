#include "lib/bpe/piece_cache.h"

#define SETS ((size_t)1 << TG_PIECE_SETS_BITS)

static void place_cache(tg_arena *arena, void *context)
{
    tg_piece_cache *c = context;

    c->sets = tg_arena_take(arena, SETS, sizeof *c->sets);
}

tg_status tg_piece_cache_create(tg_piece_cache *c, tg_err *err)
{
    return tg_arena_build(&c->arena, place_cache, c, err);
}

void tg_piece_cache_free(tg_piece_cache *c)
{
    tg_arena_free(&c->arena);
    c->sets = NULL;
}

const tg_piece_entry *tg_piece_cache_find(tg_piece_cache *c, tg_piece_key key)
{
    tg_piece_entry *e = c->sets[tg_piece_set(key)], second = e[1];

    if (tg_piece_same(e[0].key, key))
        return e;
    if (!tg_piece_same(second.key, key))
        return NULL;
    e[1] = e[0];
    e[0] = second;
    return e;
}

void tg_piece_cache_add(tg_piece_cache *c, tg_piece_key key, const int32_t *ids, size_t n)
{
    tg_piece_entry *e = &c->sets[tg_piece_set(key)][1];

    *e = (tg_piece_entry){.key = key};
    for (size_t i = 0; i < n; i++)
        e->ids[i] = (uint32_t)ids[i];
    e->ids[0] |= (uint32_t)n << 24;
}
