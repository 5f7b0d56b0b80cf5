#include "lib/info/stats.h"

#include <math.h>

void tg_stats_add(tg_stats *s, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const float v = x[i];

        s->count++;
        if (!isfinite(v)) {
            s->not_finite++;
            continue;
        }
        if (s->count - s->not_finite == 1)
            s->min = s->max = v;
        s->min = v < s->min ? v : s->min;
        s->max = v > s->max ? v : s->max;
        s->sum += (double)v;
        s->squares += (double)v * (double)v;
    }
}

double tg_stats_mean(const tg_stats *s)
{
    const uint64_t n = s->count - s->not_finite;

    return n > 0 ? s->sum / (double)n : nan("");
}

double tg_stats_norm(const tg_stats *s)
{
    return sqrt(s->squares);
}
