#include "lib/learn/pair_table.h"

#include <stdlib.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/bpe/mix.h"

#define FIRST_SLOTS ((size_t)1 << 10)
#define BLOCK_PLACES ((size_t)1 << 16)
#define LONG_LIST ((size_t)1 << 12) /* places of a list that is worth freeing */

/* Short lists are taken from blocks, which are freed together. */
typedef struct tg_pair_block {
    struct tg_pair_block *next;
    size_t used;
    uint32_t places[BLOCK_PLACES];
} tg_pair_block;

/* ---- making */

void tg_pair_table_init(tg_pair_table *t, const uint64_t seed[2], uint64_t least)
{
    *t = (tg_pair_table){.seed = {seed[0], seed[1]}, .least = least};
}

void tg_pair_free_places(const tg_pair *taken)
{
    if (taken->n >= LONG_LIST)
        free(taken->at);
}

void tg_pair_table_free(tg_pair_table *t)
{
    for (size_t i = 0; i < t->capacity; i++)
        tg_pair_free_places(&t->slots[i]);
    free(t->slots);
    free(t->heap);
    while (t->blocks) {
        tg_pair_block *block = t->blocks;

        t->blocks = block->next;
        free(block);
    }
}

size_t tg_pair_table_memory(const tg_pair_table *t)
{
    size_t bytes = t->capacity * sizeof *t->slots + t->heap_capacity * sizeof *t->heap;

    for (const tg_pair_block *b = t->blocks; b; b = b->next)
        bytes += sizeof *b;
    for (size_t i = 0; i < t->capacity; i++)
        if (t->slots[i].at && t->slots[i].n >= LONG_LIST)
            bytes += t->slots[i].n * sizeof *t->slots[i].at;
    return bytes;
}

/* A list of n places, or NULL. */
static uint32_t *new_list(tg_pair_table *t, size_t n)
{
    tg_pair_block *block = t->blocks;

    if (n >= LONG_LIST)
        return malloc(n * sizeof(uint32_t));
    if (!block || BLOCK_PLACES - block->used < n) {
        if (!(block = malloc(sizeof *block)))
            return NULL;
        block->next = t->blocks;
        block->used = 0;
        t->blocks = block;
    }
    block->used += n;
    return block->places + block->used - n;
}

/* ---- slots */

static tg_pair *find_slot(const tg_pair_table *t, uint64_t key)
{
    size_t at = tg_mix(key ^ t->seed[0], t->seed[1] | 1) & (t->capacity - 1);

    while (t->slots[at].n > 0 && t->slots[at].key != key)
        at = (at + 1) & (t->capacity - 1);
    return &t->slots[at];
}

/* The pair, or NULL. */
static tg_pair *find(const tg_pair_table *t, uint64_t key)
{
    tg_pair *p = t->capacity > 0 ? find_slot(t, key) : NULL;

    return p && p->n > 0 ? p : NULL;
}

/* ---- the heap */

/* Whether a is more frequent than b, or comes first among equally frequent ones. */
static bool before(const tg_pair_entry *a, const tg_pair_entry *b)
{
    return a->count > b->count || (a->count == b->count && a->key < b->key);
}

/* Put an entry at the free position i, or below it. */
static void sift_down(tg_pair_table *t, size_t i, tg_pair_entry entry)
{
    for (;;) {
        size_t child = 2 * i + 1;

        if (child >= t->n_heap)
            break;
        if (child + 1 < t->n_heap && before(&t->heap[child + 1], &t->heap[child]))
            child++;
        if (!before(&t->heap[child], &entry))
            break;
        t->heap[i] = t->heap[child];
        i = child;
    }
    t->heap[i] = entry;
}

void tg_pair_table_push(tg_pair_table *t, tg_pair_entry entry)
{
    size_t i = t->n_heap++;

    for (; i > 0 && before(&entry, &t->heap[(i - 1) / 2]); i = (i - 1) / 2)
        t->heap[i] = t->heap[(i - 1) / 2];
    t->heap[i] = entry;
}

void tg_pair_table_pop(tg_pair_table *t)
{
    if (--t->n_heap > 0)
        sift_down(t, 0, t->heap[t->n_heap]);
}

tg_pair *tg_pair_table_best(tg_pair_table *t)
{
    while (t->n_heap > 0) {
        const tg_pair_entry top = t->heap[0];
        tg_pair *p = find(t, top.key);

        if (!p || p->count < t->least) {
            if (p) {
                tg_pair_free_places(p);
                p->at = NULL;
            }
            tg_pair_table_pop(t);
        } else if (p->count < top.count) {
            sift_down(t, 0, (tg_pair_entry){top.key, p->count});
        } else {
            return p;
        }
    }
    return NULL;
}

/* ---- the table */

void tg_pair_table_subtract(tg_pair_table *t, uint64_t key, uint64_t by)
{
    tg_pair *p = find(t, key);

    if (p && p->count > 0)
        p->count -= by;
}

tg_pair tg_pair_table_take(tg_pair_table *t, tg_pair *best)
{
    const tg_pair taken = *best;

    best->count = 0;
    best->at = NULL;
    tg_pair_table_pop(t);
    return taken;
}

/* Move the pairs that are not ignored to a new table. */
static void move_pairs(tg_pair_table *t, tg_pair *slots, size_t capacity)
{
    tg_pair *old = t->slots;
    const size_t n = t->capacity;

    t->slots = slots;
    t->capacity = capacity;
    t->used = 0;
    for (size_t i = 0; i < n; i++) {
        if (old[i].n == 0)
            continue;
        if (old[i].count < t->least) {
            tg_pair_free_places(&old[i]);
            continue;
        }
        *find_slot(t, old[i].key) = old[i];
        t->used++;
    }
    free(old);
}

/* Make room for another pair in the table and in the heap. */
static tg_status make_room(tg_pair_table *t, tg_err *err)
{
    if (t->used >= t->capacity / 2) {
        const size_t capacity = t->capacity == 0 ? FIRST_SLOTS : 2 * t->capacity;
        tg_pair *slots = calloc(capacity, sizeof *slots);

        if (!slots)
            return tg_fail_memory(err, tg_size_mul_sat(capacity, sizeof *slots), "pairs of ids");
        move_pairs(t, slots, capacity);
    }
    return tg_grow(&t->heap, &t->heap_capacity, t->n_heap + 1, sizeof *t->heap, "pairs of ids", err);
}

tg_status tg_pair_table_add(tg_pair_table *t, uint64_t key, uint64_t count, uint32_t n, uint32_t **at,
                            tg_err *err)
{
    tg_pair *p;
    tg_status status = make_room(t, err);

    *at = NULL;
    if (status)
        return status;
    if (!(*at = new_list(t, n)))
        return tg_fail_memory(err, n * sizeof(uint32_t), "the places of a pair");
    p = find_slot(t, key);
    *p = (tg_pair){.key = key, .count = count, .at = *at, .n = n};
    t->used++;
    tg_pair_table_push(t, (tg_pair_entry){key, count});
    return TG_OK;
}
