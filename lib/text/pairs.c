#include "lib/text/pairs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Twice the merges, so that a search ends soon. */
static unsigned bits_for(size_t n)
{
    unsigned bits = 4;

    while ((size_t)1 << bits < 2 * n)
        bits++;
    return bits;
}

/* TG_EDATA: the pair is there. */
static tg_status insert(tg_pairs *p, uint32_t rank, tg_err *err)
{
    const uint32_t *halves = p->halves[rank];
    const uint64_t hash = tg_pairs_hash(p, halves[0], halves[1]);
    const uint32_t mark = tg_pairs_mark(p, hash);
    const uint32_t same = tg_pairs_rank(p, halves[0], halves[1]);
    size_t i = hash >> p->shift;

    if (same != TG_RANK_NONE)
        return tg_fail(err, TG_EDATA, "merge %lu is the same as merge %lu: tokens %lu and %lu",
                       (unsigned long)rank, (unsigned long)same, (unsigned long)halves[0],
                       (unsigned long)halves[1]);
    while (p->slots[i] != 0)
        i = (i + 1) & p->last;
    p->slots[i] = mark ^ (rank + 1);
    return TG_OK;
}

static void fill_bytes(tg_pairs *p, const uint32_t byte_ids[256])
{
    for (size_t a = 0; a < 256; a++) {
        for (size_t b = 0; b < 256; b++) {
            const bool exist = byte_ids[a] != UINT32_MAX && byte_ids[b] != UINT32_MAX;

            p->bytes[a << 8 | b] = exist ? tg_pairs_rank(p, byte_ids[a], byte_ids[b]) : TG_RANK_NONE;
        }
    }
}

tg_status tg_pairs_create(tg_pairs *p, const uint32_t (*halves)[2], const uint32_t *made, size_t n,
                          const bool *live, const uint32_t byte_ids[256], uint64_t key, tg_err *err)
{
    size_t count = 0;
    unsigned bits;
    tg_status status;

    assert(n <= TG_PAIRS_MAX);
    for (size_t i = 0; i < n; i++)
        count += !live || live[i];
    bits = bits_for(count);
    *p = (tg_pairs){.halves = halves,
                    .made = made,
                    .slots = calloc((size_t)1 << bits, sizeof *p->slots),
                    .last = ((size_t)1 << bits) - 1,
                    .shift = 64 - bits,
                    .key = key | 1,
                    .bytes = malloc(256 * 256 * sizeof *p->bytes)};
    if (!p->slots || !p->bytes)
        return tg_fail_memory(err, ((size_t)1 << bits) * sizeof *p->slots, "a table of merges");
    for (size_t i = 0; i < n; i++)
        if ((!live || live[i]) && (status = insert(p, (uint32_t)i, err)))
            return status;
    fill_bytes(p, byte_ids);
    return TG_OK;
}

void tg_pairs_free(tg_pairs *p)
{
    free(p->slots);
    free(p->bytes);
    *p = (tg_pairs){0};
}
