#include "lib/bpe/token_table.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

#define PRIME (((uint64_t)1 << 61) - 1)

/* x modulo the prime, for x < 2^64. */
static uint64_t reduce(uint64_t x)
{
    x = (x & PRIME) + (x >> 61);
    /* unreached: x >= PRIME, of 2^61 */
    return x >= PRIME ? x - PRIME : x;
}

/* a * b modulo the prime, for a and b below it: 2^61 = 1. */
static uint64_t multiply(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 uint128;
    const uint128 product = (uint128)a * b;

    return reduce(((uint64_t)product & PRIME) + (uint64_t)(product >> 61));
}

static uint64_t hash_of(uint64_t key, const unsigned char *text, size_t n)
{
    uint64_t h = 0;

    for (size_t i = 0; i < n; i++)
        h = reduce(multiply(h, key) + text[i] + 1);
    return h;
}

static size_t slot_of(const tg_token_table *t, uint64_t hash)
{
    return hash * t->mix >> t->shift;
}

tg_status tg_token_table_create(tg_token_table *t, const uint32_t *ends, const unsigned char *tokens,
                                size_t n, size_t longest, const uint64_t secret[2], tg_err *err)
{
    unsigned bits = 4;

    while ((size_t)1 << bits < 2 * n)
        bits++;
    *t = (tg_token_table){.ends = ends,
                          .tokens = tokens,
                          .key = reduce(secret[0]) | 256, /* above every byte */
                          .mix = secret[1] | 1,
                          .hashes = malloc(tg_size_max(n, 1) * sizeof *t->hashes),
                          .powers = malloc((longest + 1) * sizeof *t->powers),
                          .slots = calloc((size_t)1 << bits, sizeof *t->slots),
                          .last = ((size_t)1 << bits) - 1,
                          .shift = 64 - bits};
    if (!t->hashes || !t->powers || !t->slots)
        return tg_fail_memory(err, n * sizeof *t->hashes, "a table of tokens");
    t->powers[0] = 1;
    for (size_t i = 1; i <= longest; i++)
        t->powers[i] = multiply(t->powers[i - 1], t->key);
    return TG_OK;
}

uint32_t tg_token_table_add(tg_token_table *t, uint32_t id)
{
    size_t n, other_n;
    const unsigned char *text = tg_token_text(t->ends, t->tokens, id, &n);
    const uint64_t hash = hash_of(t->key, text, n);
    size_t i = slot_of(t, hash);

    t->hashes[id] = hash;
    for (; t->slots[i] != 0; i = (i + 1) & t->last) {
        const uint32_t other = t->slots[i] - 1;
        const unsigned char *other_text = tg_token_text(t->ends, t->tokens, other, &other_n);

        /* unreached: other texts of one hash of 61 bits */
        if (t->hashes[other] == hash && other_n == n && memcmp(other_text, text, n) == 0)
            return other;
    }
    t->slots[i] = id + 1;
    return id;
}

/* The token that is the concatenation of left [m] and right [n]. */
static uint32_t find(const tg_token_table *t, uint64_t hash, const unsigned char *left, size_t m,
                     const unsigned char *right, size_t n)
{
    for (size_t i = slot_of(t, hash); t->slots[i] != 0; i = (i + 1) & t->last) {
        const uint32_t id = t->slots[i] - 1;
        size_t length;
        const unsigned char *text = tg_token_text(t->ends, t->tokens, id, &length);

        /* unreached: other texts of one hash of 61 bits */
        if (t->hashes[id] == hash && length == m + n && memcmp(text, left, m) == 0 &&
            /* unreached: as above */
            memcmp(text + m, right, n) == 0)
            return id;
    }
    return TG_TOKEN_NONE;
}

uint32_t tg_token_table_find(const tg_token_table *t, const unsigned char *text, size_t n)
{
    return find(t, hash_of(t->key, text, n), text, n, text, 0);
}

uint32_t tg_token_table_find_joined(const tg_token_table *t, uint32_t a, uint32_t b)
{
    size_t m, n;
    const unsigned char *left = tg_token_text(t->ends, t->tokens, a, &m),
                        *right = tg_token_text(t->ends, t->tokens, b, &n);

    return find(t, reduce(multiply(t->hashes[a], t->powers[n]) + t->hashes[b]), left, m, right, n);
}

void tg_token_table_free(tg_token_table *t)
{
    free(t->hashes);
    free(t->powers);
    free(t->slots);
    *t = (tg_token_table){0};
}
