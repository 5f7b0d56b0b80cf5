/*
 * pair_table: pairs of adjacent ids, how often each occurs and where, for vocab_learner.c.
 *
 * A pair's count never grows after the pair has been added: a merge adds only pairs that contain the
 * new id, and removes occurrences of others.  So a heap whose top is corrected when it is out of date
 * finds the most frequent pair.
 */
#ifndef TG_LEARN_PAIR_TABLE_H
#define TG_LEARN_PAIR_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

/* A pair as one number, which also orders equally frequent pairs. */
static inline uint64_t tg_pair_key(uint32_t left, uint32_t right)
{
    return (uint64_t)left << 32 | right;
}

typedef struct tg_pair {
    uint64_t key;
    uint64_t count;
    uint32_t *at; /* [n], ascending: every place where it occurs, and some where it no longer does */
    uint32_t n;   /* 0: the slot is free */
} tg_pair;

/* A pair and its count when it was last looked at. */
typedef struct tg_pair_entry {
    uint64_t key, count;
} tg_pair_entry;

typedef struct tg_pair_table {
    uint64_t seed[2];
    uint64_t least;        /* pairs with a lower count are ignored */
    tg_pair *slots;        /* [capacity], a power of two; at most half are used */
    size_t capacity, used; /* used: including pairs that have fallen below `least` */
    tg_pair_entry *heap;   /* [n_heap]: each pair that is not ignored, once */
    size_t n_heap, heap_capacity;
    struct tg_pair_block *blocks; /* short lists of places */
} tg_pair_table;

/* Allocates nothing. */
void tg_pair_table_init(tg_pair_table *t, const uint64_t seed[2], uint64_t least);
void tg_pair_table_free(tg_pair_table *t);

/* Add a pair that the table lacks, 1 <= n, least <= count; the caller fills *at, the list of its n
 * places.  TG_ENOMEM: only tg_pair_table_free() is legal. */
TG_MUST_CHECK tg_status tg_pair_table_add(tg_pair_table *t, uint64_t key, uint64_t count, uint32_t n,
                                          uint32_t **at, tg_err *err);

/* Subtract `by` from the count of a pair, if the table has it. */
void tg_pair_table_subtract(tg_pair_table *t, uint64_t key, uint64_t by);

/* The most frequent pair, among equally frequent ones the one with the smallest key; NULL: none occurs
 * at least `least` times.  Valid until another is added. */
tg_pair *tg_pair_table_best(tg_pair_table *t);

/* Remove the result of tg_pair_table_best() from the heap, and put it back. */
void tg_pair_table_pop(tg_pair_table *t);
void tg_pair_table_push(tg_pair_table *t, tg_pair_entry entry);

/* Remove the result of tg_pair_table_best() from the table; the caller frees its places. */
tg_pair tg_pair_table_take(tg_pair_table *t, tg_pair *best);
void tg_pair_free_places(const tg_pair *taken);

/* Bytes of memory in use.  Visits all pairs. */
size_t tg_pair_table_memory(const tg_pair_table *t);

#endif
