/* flat: a buffer of numbers, in the order of a table of parameters, of one of two types. */
#ifndef TG_BASE_FLAT_H
#define TG_BASE_FLAT_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/bf16.h"

/* One of the two is NULL; both: there is no buffer. */
typedef struct tg_flat {
    float *floats;
    tg_bf16 *halves;
} tg_flat;

/* The bytes of a number. */
static inline size_t tg_flat_each(tg_flat x)
{
    return x.halves ? sizeof *x.halves : sizeof *x.floats;
}

/* Where number i is. */
static inline void *tg_flat_at(tg_flat x, size_t i)
{
    return x.halves ? (void *)(x.halves + i) : (void *)(x.floats + i);
}

#endif
