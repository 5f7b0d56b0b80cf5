#include "lib/learn/piece_counts.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/bpe/mix.h"

#define LONG 255u     /* in the last byte of a long piece's key; its offset is in the bytes below */
#define LENGTH_SIZE 8 /* bytes of a length in `longer` */

#ifndef TG_PIECE_SLOTS
#define TG_PIECE_SLOTS ((size_t)1 << 12) /* of the first table */
#endif

/* ---- keys */

/* Whether the last byte of a key says that the piece is long. */
static bool is_long(tg_piece_key key)
{
    return tg_piece_key_end(key) == LONG;
}

static tg_piece_key long_key(uint64_t hash, size_t place)
{
    return (tg_piece_key){{hash, (uint64_t)LONG << 56 | place}};
}

static size_t place_of(tg_piece_key key)
{
    return (size_t)(key.half[1] & ~((uint64_t)LONG << 56));
}

static uint64_t short_hash(const tg_piece_counts *c, tg_piece_key key)
{
    return tg_mix(key.half[0] ^ c->seed[0], key.half[1] ^ c->seed[1]);
}

static uint64_t long_hash(const tg_piece_counts *c, const unsigned char *text, size_t n)
{
    uint64_t hash = n ^ c->seed[0], word[2];

    for (size_t at = 0; at < n; at += 16) {
        /* the last 16 bytes may be in two steps */
        memcpy(word, text + tg_size_min(at, n - 16), 16);
        hash = tg_mix(word[0] ^ hash, word[1] ^ c->seed[1]) + hash;
    }
    return tg_mix(hash, c->seed[1]);
}

static uint64_t stored_hash(const tg_piece_counts *c, tg_piece_key key)
{
    return is_long(key) ? key.half[0] : short_hash(c, key);
}

static tg_piece long_piece(const tg_piece_counts *c, tg_piece_key key)
{
    const unsigned char *at = c->longer + place_of(key);
    uint64_t n;

    memcpy(&n, at, LENGTH_SIZE);
    return (tg_piece){at + LENGTH_SIZE, (size_t)n, 0};
}

/* ---- memory */

void tg_piece_counts_init(tg_piece_counts *c, const uint64_t seed[2])
{
    *c = (tg_piece_counts){.seed = {seed[0], seed[1]}};
}

void tg_piece_counts_free(tg_piece_counts *c)
{
    free(c->slots);
    free(c->longer);
    tg_piece_counts_init(c, (const uint64_t[2]){c->seed[0], c->seed[1]});
}

size_t tg_piece_counts_memory(const tg_piece_counts *c)
{
    return c->capacity * sizeof *c->slots + c->longer_capacity;
}

/* Find a free slot for a key that the table lacks. */
static tg_piece_slot *free_slot(tg_piece_slot *slots, size_t capacity, uint64_t hash)
{
    size_t at = hash & (capacity - 1);

    while (slots[at].count > 0)
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

/* Make room for `more` pieces. */
static tg_status reserve(tg_piece_counts *c, size_t more, tg_err *err)
{
    size_t capacity = tg_size_max(c->capacity, TG_PIECE_SLOTS);
    tg_piece_slot *slots;

    if (more <= c->capacity / 2 - c->used)
        return TG_OK;
    while (capacity / 2 - c->used < more && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return tg_fail_memory(err, tg_size_mul_sat(capacity, sizeof *slots),
                              "the distinct pieces of the text");
    for (size_t i = 0; i < c->capacity; i++)
        if (c->slots[i].count > 0)
            *free_slot(slots, capacity, stored_hash(c, c->slots[i].key)) = c->slots[i];
    free(c->slots);
    c->slots = slots;
    c->capacity = capacity;
    return TG_OK;
}

/* Append a long piece to `longer`. */
static tg_status keep_long(tg_piece_counts *c, const unsigned char *text, size_t n, size_t *place,
                           tg_err *err)
{
    const uint64_t length = n;
    size_t need, capacity = c->longer_capacity;
    unsigned char *longer;

    if (!tg_size_add(&need, c->n_longer, n) || !tg_size_add(&need, need, LENGTH_SIZE))
        return tg_fail_memory(err, SIZE_MAX, "the long pieces of the text");
    if (need > capacity) {
        capacity = tg_size_max(need, tg_size_add_sat(capacity, capacity / 2));
        if (!(longer = realloc(c->longer, capacity)))
            return tg_fail_memory(err, capacity, "the long pieces of the text");
        c->longer = longer;
        c->longer_capacity = capacity;
    }
    *place = c->n_longer;
    memcpy(c->longer + *place, &length, LENGTH_SIZE);
    memcpy(c->longer + *place + LENGTH_SIZE, text, n);
    c->n_longer = need;
    return TG_OK;
}

/* ---- counting */

/* Whether a slot that is not free has the piece; of a long piece's key only the place may differ. */
static inline bool has_piece(const tg_piece_counts *c, const tg_piece_slot *slot, const tg_piece *p,
                             tg_piece_key key)
{
    tg_piece here;

    if (!is_long(key))
        return tg_piece_same(slot->key, key);
    if (slot->key.half[0] != key.half[0] || !is_long(slot->key))
        return false;
    here = long_piece(c, slot->key);
    return here.n == p->n && memcmp(here.text, p->text, p->n) == 0;
}

/* There is a slot for the piece. */
static tg_status count_piece(tg_piece_counts *c, const tg_piece *p, tg_piece_key key, uint64_t hash,
                             tg_err *err)
{
    const size_t mask = c->capacity - 1;
    size_t at = hash & mask, place = 0;
    tg_status status;

    for (; c->slots[at].count > 0; at = (at + 1) & mask) {
        if (has_piece(c, &c->slots[at], p, key)) {
            c->slots[at].count += p->count;
            return TG_OK;
        }
    }
    if (is_long(key)) {
        if ((status = keep_long(c, p->text, p->n, &place, err)))
            return status;
        key = long_key(hash, place);
    }
    c->slots[at] = (tg_piece_slot){key, p->count};
    c->used++;
    c->distinct_bytes += p->n;
    return TG_OK;
}

tg_status tg_piece_counts_flush(tg_piece_counts *c, tg_err *err)
{
    tg_piece_key key[TG_PIECE_QUEUE];
    uint64_t hash[TG_PIECE_QUEUE];
    const size_t n = c->queued;
    tg_status status = reserve(c, n, err);

    if (status)
        return status;
    for (size_t i = 0; i < n; i++) {
        const tg_piece *p = &c->queue[i];

        if (p->n <= TG_PIECE_MAX) {
            key[i] = tg_piece_key_near(p->text, p->n);
            hash[i] = short_hash(c, key[i]);
        } else {
            hash[i] = long_hash(c, p->text, p->n);
            key[i] = long_key(hash[i], 0);
        }
        __builtin_prefetch(&c->slots[hash[i] & (c->capacity - 1)], 1);
    }
    for (size_t i = 0; !status && i < n; i++) {
        status = count_piece(c, &c->queue[i], key[i], hash[i], err);
        c->pieces += c->queue[i].count;
    }
    c->queued = 0;
    return status;
}

tg_status tg_piece_counts_merge(tg_piece_counts *c, const tg_piece_counts *from, tg_err *err)
{
    /* Reserve all slots at once: entries that arrive in the order of their hashes would cluster in a
     * table that has yet to grow. */
    tg_status status = reserve(c, from->used, err);
    tg_piece piece;

    for (size_t at = 0; !status && tg_piece_counts_next(from, &at, &piece);)
        status = tg_piece_counts_add(c, piece, err);
    return status ? status : tg_piece_counts_flush(c, err);
}

/* ---- visiting */

bool tg_piece_counts_next(const tg_piece_counts *c, size_t *at, tg_piece *piece)
{
    for (; *at < c->capacity; ++*at) {
        const tg_piece_slot *slot = &c->slots[*at];

        if (slot->count == 0)
            continue;
        *piece = is_long(slot->key)
                     ? long_piece(c, slot->key)
                     : (tg_piece){(const unsigned char *)slot->key.half, tg_piece_key_end(slot->key), 0};
        piece->count = slot->count;
        ++*at;
        return true;
    }
    return false;
}
