#include "lib/bpe/pairs.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/base/size.h"

#define MOVES_MAX 500 /* before other hashes are tried */
#define TRIES 4       /* of hashes, before the table is doubled */

static uint64_t hash_of(const tg_pairs *p, uint32_t a, uint32_t b, size_t which)
{
    return ((uint64_t)a << 32 | b) * p->key[which];
}

uint32_t tg_pairs_rank(const tg_pairs *p, uint32_t a, uint32_t b)
{
    for (size_t which = 0; which < 2; which++) {
        const uint32_t rank = tg_pairs_slot(p, hash_of(p, a, b, which));

        if (rank < TG_PAIRS_MAX && p->pairs[rank].left == a && p->pairs[rank].right == b)
            return rank;
    }
    return TG_RANK_NONE;
}

/* Put a merge into its first slot; the merge evicted there goes to its other slot, and so on.  False:
 * this did not end. */
static bool insert(tg_pairs *p, uint32_t rank)
{
    size_t which = 0;

    for (size_t moves = 0; moves < MOVES_MAX; moves++) {
        const uint64_t hash = hash_of(p, p->pairs[rank].left, p->pairs[rank].right, which);
        uint32_t *slot = &p->slots[hash >> p->shift], before = *slot;

        *slot = tg_pairs_mark(p, hash) | (rank + 1);
        if (before == 0)
            return true;
        rank = (before & (uint32_t)TG_PAIRS_MAX) - 1;
        which = hash_of(p, p->pairs[rank].left, p->pairs[rank].right, 0) >> p->shift == hash >> p->shift;
    }
    return false;
}

/* TG_EDATA: a pair occurs twice.  *done: whether all merges fit; otherwise try other hashes. */
static tg_status insert_all(tg_pairs *p, size_t n, const bool *live, bool *done, tg_err *err)
{
    *done = true;
    for (size_t i = 0; *done && i < n; i++) {
        const tg_pair *pair = &p->pairs[i];
        uint32_t same;

        if (live && !live[i])
            continue;
        same = tg_pairs_rank(p, pair->left, pair->right);
        if (same != TG_RANK_NONE)
            return tg_fail(err, TG_EDATA, "merge %zu is the same as merge %lu: tokens %lu and %lu", i,
                           (unsigned long)same, (unsigned long)pair->left, (unsigned long)pair->right);
        *done = insert(p, (uint32_t)i);
    }
    return TG_OK;
}

/* The next numbers of a sequence that begins with the secret: Steele et al. 2014, SplitMix. */
static uint64_t next_key(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9E3779B97F4A7C15);

    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return (x ^ x >> 31) | 1;
}

static tg_status fill_slots(tg_pairs *p, size_t n, const bool *live, uint64_t secret, tg_err *err)
{
    unsigned bits = 4;
    size_t count = 0;
    bool done = false;
    tg_status status = TG_OK;

    for (size_t i = 0; i < n; i++)
        count += !live || live[i];
    while ((size_t)1 << bits < 2 * count)
        bits++;
    for (size_t tries = 1; !status && !done; tries++) {
        free(p->slots);
        p->slots = calloc((size_t)1 << bits, sizeof *p->slots);
        if (!p->slots)
            return tg_fail_memory(err, ((size_t)1 << bits) * sizeof *p->slots, "a table of merges");
        p->shift = 64 - bits;
        p->key[0] = next_key(&secret);
        p->key[1] = next_key(&secret);
        status = insert_all(p, n, live, &done, err);
        bits += tries % TRIES == 0;
    }
    return status;
}

tg_status tg_pairs_create(tg_pairs *p, const uint32_t (*halves)[2], const uint32_t *made, size_t n,
                          const bool *live, const uint32_t byte_ids[256], uint64_t secret, tg_err *err)
{
    tg_status status;

    assert(n <= TG_PAIRS_MAX);
    *p = (tg_pairs){.pairs = malloc(tg_size_max(n, 1) * sizeof *p->pairs),
                    .bytes = malloc(256 * 256 * sizeof *p->bytes)};
    if (!p->pairs || !p->bytes)
        return tg_fail_memory(err, n * sizeof *p->pairs, "a table of merges");
    for (size_t i = 0; i < n; i++)
        p->pairs[i] = (tg_pair){halves[i][0], halves[i][1], made[i], 0};
    if ((status = fill_slots(p, n, live, secret, err)))
        return status;
    for (size_t a = 0; a < 256; a++)
        for (size_t b = 0; b < 256; b++)
            p->bytes[a << 8 | b] = tg_pairs_rank(p, byte_ids[a], byte_ids[b]); /* UINT32_MAX has none */
    return TG_OK;
}

void tg_pairs_free(tg_pairs *p)
{
    free(p->pairs);
    free(p->slots);
    free(p->bytes);
    *p = (tg_pairs){0};
}
