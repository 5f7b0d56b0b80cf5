#include "lib/text/token_index.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

#define COMPARED 256 /* bytes of a text that are compared besides its hash */

/* ---- the hash: the bytes plus 1 as digits of a number in base BASE, modulo the prime 2^61 - 1 */

#define PRIME (((uint64_t)1 << 61) - 1)
#define BASE UINT64_C(0x15F2AC9B3D4E8761)
#define SPREAD UINT64_C(0x9E3779B97F4A7C15) /* odd: keys of short tokens differ in their upper bits too */

__extension__ typedef unsigned __int128 wide;

static uint64_t multiply_add(uint64_t a, uint64_t b, uint64_t c)
{
    const wide product = (wide)a * b + c;
    const uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);

    return sum >= PRIME ? sum - PRIME : sum;
}

uint64_t tg_token_hash_byte(uint64_t hash, unsigned char byte)
{
    return multiply_add(hash, BASE, (uint64_t)byte + 1);
}

uint64_t tg_token_hash_join(uint64_t first, uint64_t second, uint64_t scale)
{
    return multiply_add(first, scale, second);
}

void tg_token_hash_scales(uint64_t *scale, size_t n)
{
    scale[0] = 1;
    for (size_t i = 1; i <= n; i++)
        scale[i] = multiply_add(scale[i - 1], BASE, 0);
}

uint64_t tg_token_hash(const void *text, size_t n)
{
    const unsigned char *p = text;
    uint64_t hash = 0;

    for (size_t i = 0; i < n; i++)
        hash = tg_token_hash_byte(hash, p[i]);
    return hash;
}

/* ---- the index */

static const unsigned char *token_of(const tg_token_index *index, uint32_t id, size_t *n)
{
    const size_t begin = id > 0 ? index->ends[id - 1] : 0;

    *n = index->ends[id] - begin;
    return index->tokens + begin;
}

static int compare_keys(const void *a, const void *b)
{
    const struct tg_token_key *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static tg_status check_distinct(const tg_token_index *index, tg_err *err)
{
    for (size_t i = 1; i < index->n; i++) {
        const uint32_t id = index->keys[i - 1].id, other = index->keys[i].id;
        char shown[TG_TOKEN_SHOWN];
        const unsigned char *a, *b;
        size_t n, m;

        if (index->keys[i - 1].key != index->keys[i].key)
            continue;
        a = token_of(index, id, &n);
        b = token_of(index, other, &m);
        if (n == m && memcmp(a, b, n) == 0)
            return tg_fail(err, TG_EDATA, "tokens %u and %u are both \"%s\"", id, other,
                           tg_token_shown(shown, a, n));
        return tg_fail(err, TG_EDATA, "tokens %u and %u have the same hash: such tokens are not supported",
                       id, other);
    }
    return TG_OK;
}

static void fill_starts(tg_token_index *index)
{
    size_t i = 0;

    for (size_t part = 0; part <= (size_t)1 << index->bits; part++) {
        while (i < index->n && index->keys[i].key >> (64 - index->bits) < part)
            i++;
        index->start[part] = (uint32_t)i;
    }
}

tg_status tg_token_index_create(tg_token_index *index, size_t n, const uint32_t *ends,
                                const unsigned char *tokens, size_t n_special, const uint32_t *special,
                                tg_err *err)
{
    size_t s = 0;
    tg_status status;

    *index = (tg_token_index){.ends = ends, .tokens = tokens, .bits = 1};
    while (index->bits < 22 && (size_t)1 << index->bits < n)
        index->bits++;
    index->keys = calloc(tg_size_max(n, 1), sizeof *index->keys);
    index->start = calloc(((size_t)1 << index->bits) + 1, sizeof *index->start);
    if (!index->keys || !index->start) {
        status = tg_fail_memory(err, n * sizeof *index->keys, "an index of tokens");
        goto done;
    }
    for (size_t id = 0; id < n; id++) {
        const size_t begin = id > 0 ? ends[id - 1] : 0;
        const bool is_special = s < n_special && special[s] == id;

        s += is_special;
        if (!is_special && ends[id] > begin)
            index->keys[index->n++] =
                (struct tg_token_key){tg_token_hash(tokens + begin, ends[id] - begin) * SPREAD, (uint32_t)id};
    }
    qsort(index->keys, index->n, sizeof *index->keys, compare_keys);
    fill_starts(index);
    status = check_distinct(index, err);

done:
    if (status)
        tg_token_index_free(index);
    return status;
}

void tg_token_index_free(tg_token_index *index)
{
    free(index->keys);
    free(index->start);
    *index = (tg_token_index){0};
}

uint32_t tg_token_find_hash(const tg_token_index *index, uint64_t hash, const void *text, size_t n)
{
    const uint64_t key = hash * SPREAD;
    const size_t part = (size_t)(key >> (64 - index->bits));
    size_t low = index->start[part], high = index->start[part + 1];
    const unsigned char *token;
    size_t length;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (index->keys[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == index->n || index->keys[low].key != key)
        return TG_NO_TOKEN;
    token = token_of(index, index->keys[low].id, &length);
    if (length != n || memcmp(token, text, tg_size_min(n, COMPARED)) != 0)
        return TG_NO_TOKEN;
    return index->keys[low].id;
}

uint32_t tg_token_find(const tg_token_index *index, const void *text, size_t n)
{
    const uint32_t id = tg_token_find_hash(index, tg_token_hash(text, n), text, n);
    size_t length;

    if (id == TG_NO_TOKEN || memcmp(token_of(index, id, &length), text, n) != 0)
        return TG_NO_TOKEN;
    return id;
}

int tg_token_missing_byte(const tg_token_index *index)
{
    for (int i = 0; i < 256; i++) {
        const unsigned char byte = (unsigned char)i;

        if (tg_token_find(index, &byte, 1) == TG_NO_TOKEN)
            return i;
    }
    return -1;
}

/* ---- messages */

const char *tg_token_shown(char out[TG_TOKEN_SHOWN], const void *text, size_t n)
{
    const unsigned char *p = text;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        if (at + 8 > TG_TOKEN_SHOWN) { /* no room for this byte and the dots */
            memcpy(out + at, "...", 3);
            at += 3;
            break;
        }
        if (p[i] >= ' ' && p[i] < 0x7F)
            out[at++] = (char)p[i];
        else
            at += (size_t)snprintf(out + at, 5, "\\x%02X", p[i]);
    }
    out[at] = '\0';
    return out;
}
