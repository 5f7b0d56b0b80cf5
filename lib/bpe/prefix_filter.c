#include "lib/bpe/prefix_filter.h"

#include <stdlib.h>

#define BASE UINT64_C(0x9E3779B97F4A7C15) /* of the polynomial of a string's bytes, modulo 2^64 */
#define BITS_PER_PREFIX 16
#define BITS_MAX 26 /* of the filter, as a power of 2: 8 MiB */
#define HASHES 4

tg_status tg_prefix_filter_create(tg_prefix_filter *f, size_t prefixes, tg_err *err)
{
    unsigned bits = 10;

    while (bits < BITS_MAX && (size_t)1 << bits < prefixes * BITS_PER_PREFIX)
        bits++;
    *f = (tg_prefix_filter){.bits = calloc((size_t)1 << (bits - 6), sizeof *f->bits), .shift = 64 - bits};
    return f->bits ? TG_OK : tg_fail_memory(err, (size_t)1 << (bits - 3), "a filter of tokens");
}

/* The next of a string's bits. */
static uint64_t next_bit(const tg_prefix_filter *f, uint64_t *mixed)
{
    *mixed = (*mixed ^ *mixed >> 32) * UINT64_C(0xD6E8FEB86659FD93);
    return *mixed >> f->shift;
}

void tg_prefix_filter_add(tg_prefix_filter *f, const unsigned char *token, size_t n)
{
    uint64_t hash = 0;

    for (size_t i = 0; i + 1 < n; i++) {
        uint64_t mixed = hash = hash * BASE + token[i] + 1;

        for (size_t k = 0; k < HASHES; k++) {
            const uint64_t bit = next_bit(f, &mixed);

            f->bits[bit / 64] |= (uint64_t)1 << bit % 64;
        }
    }
}

bool tg_prefix_filter_extend(const tg_prefix_filter *f, tg_prefix_string *s, unsigned char byte)
{
    uint64_t mixed;
    bool all = true;

    s->power = s->power == 0 ? 1 : s->power * BASE;
    mixed = s->hash += s->power * (byte + UINT64_C(1));
    for (size_t k = 0; all && k < HASHES; k++) {
        const uint64_t bit = next_bit(f, &mixed);

        all = f->bits[bit / 64] >> bit % 64 & 1;
    }
    return all;
}

void tg_prefix_filter_free(tg_prefix_filter *f)
{
    free(f->bits);
    *f = (tg_prefix_filter){0};
}
