/*
 * stats: minimum, maximum, mean and norm of numbers that arrive in parts.
 */
#ifndef TG_INFO_STATS_H
#define TG_INFO_STATS_H

#include <stddef.h>
#include <stdint.h>

typedef struct tg_stats {
    uint64_t count;      /* of all numbers */
    uint64_t not_finite; /* of them NaN or infinite; the rest is about the others */
    float min, max;      /* of none: 0 */
    double sum, squares; /* in double precision, in order */
} tg_stats;

void tg_stats_add(tg_stats *s, const float *x, size_t n);

/* NaN: there are no finite numbers. */
double tg_stats_mean(const tg_stats *s);

/* The square root of the sum of the squares. */
double tg_stats_norm(const tg_stats *s);

#endif
