#include "lib/spm/wide_cache.h"

#include <stdlib.h>

#define ENTRIES ((size_t)1 << TG_WIDE_BITS)

tg_status tg_wide_cache_create(tg_wide_cache *c, tg_err *err)
{
    c->entries = calloc(ENTRIES, sizeof *c->entries);
    return c->entries ? TG_OK : tg_fail_memory(err, ENTRIES * sizeof *c->entries, "a cache of strings");
}

void tg_wide_cache_free(tg_wide_cache *c)
{
    free(c->entries);
    c->entries = NULL;
}

size_t tg_wide_cache_find(const tg_wide_cache *c, tg_piece_key key, size_t set, int32_t ids[TG_WIDE_IDS])
{
    const tg_wide_entry *e = &c->entries[set % ENTRIES];

    if (!tg_piece_same(e->key, key))
        return 0;
    for (size_t i = 0; i < TG_WIDE_IDS; i++)
        ids[i] = (int32_t)(e->ids[i] & 0xFFFFFF);
    return e->ids[0] >> 24;
}

void tg_wide_cache_add(tg_wide_cache *c, tg_piece_key key, size_t set, const int32_t *ids, size_t n)
{
    tg_wide_entry *e = &c->entries[set % ENTRIES];

    *e = (tg_wide_entry){.key = key};
    for (size_t i = 0; i < n; i++)
        e->ids[i] = (uint32_t)ids[i];
    e->ids[0] |= (uint32_t)n << 24;
}
