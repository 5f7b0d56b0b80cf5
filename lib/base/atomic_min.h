/*
 * atomic_min: the least of what several threads find.
 */
#ifndef TG_BASE_ATOMIC_MIN_H
#define TG_BASE_ATOMIC_MIN_H

#include <stdatomic.h>
#include <stddef.h>

/* *least = min(*least, x) */
static inline void tg_atomic_min(atomic_size_t *least, size_t x)
{
    size_t before = atomic_load(least);

    while (x < before && !atomic_compare_exchange_weak(least, &before, x))
        ;
}

#endif
