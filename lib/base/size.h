/*
 * size: arithmetic on sizes that detects overflow.
 */
#ifndef TG_BASE_SIZE_H
#define TG_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* *out = a * b, or a + b.  False, with *out unspecified, on overflow. */
static inline bool tg_size_mul(size_t *out, size_t a, size_t b)
{
    return !__builtin_mul_overflow(a, b, out);
}

static inline bool tg_size_add(size_t *out, size_t a, size_t b)
{
    return !__builtin_add_overflow(a, b, out);
}

/* a * b, or a + b; on overflow SIZE_MAX, a size that no allocation can satisfy. */
static inline size_t tg_size_mul_sat(size_t a, size_t b)
{
    size_t product;

    return tg_size_mul(&product, a, b) ? product : SIZE_MAX;
}

static inline size_t tg_size_add_sat(size_t a, size_t b)
{
    size_t sum;

    return tg_size_add(&sum, a, b) ? sum : SIZE_MAX;
}

static inline size_t tg_size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

static inline size_t tg_size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* n rounded up to a multiple of `to`.  n + to must not overflow. */
static inline size_t tg_round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

/* n / by, rounded up.  n + by must not overflow. */
static inline size_t tg_ceil_div(size_t n, size_t by)
{
    return (n + by - 1) / by;
}

#endif
