/*
 * heap: a queue of numbers from which the least is taken first, in an array of the caller's.
 */
#ifndef TG_BASE_HEAP_H
#define TG_BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct tg_heap {
    uint64_t *item; /* [n], and room for those that are pushed; item[0] is the least */
    size_t n;
} tg_heap;

/* An item that is ordered by `order`, and among equals by `number`. */
static inline uint64_t tg_heap_item(uint32_t order, size_t number)
{
    return (uint64_t)order << 32 | (uint32_t)number;
}

static inline uint32_t tg_heap_order(uint64_t item)
{
    return (uint32_t)(item >> 32);
}

static inline size_t tg_heap_number(uint64_t item)
{
    return (uint32_t)item;
}

/* Arrange n items that are in any order. */
void tg_heap_make(tg_heap *h);

void tg_heap_push(tg_heap *h, uint64_t item);

/* Take the least of n >= 1 items. */
uint64_t tg_heap_pop(tg_heap *h);

#endif
