#include "lib/view/scale.h"

#include <math.h>
#include <stdlib.h>

static double clamp(double x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

double tg_scale_place(const tg_scale *s, double x)
{
    if (s->kind == TG_SCALE_LINEAR)
        return s->high > s->low ? clamp((x - s->low) / (s->high - s->low)) : 0.5;
    if (s->kind == TG_SCALE_COUNT)
        return x > 0 && s->high > 0 ? clamp(log1p(x) / log1p(s->high)) : 0;
    if (s->kind == TG_SCALE_LOG)
        return x > 0 && s->high > 0 ? clamp(1 + log10(x / s->high) / TG_SCALE_DECADES) : 0;
    return s->high > 0 ? sqrt(clamp(x / s->high)) : 0;
}

double tg_scale_number(const tg_scale *s, double place)
{
    if (s->kind == TG_SCALE_LINEAR)
        return s->low + place * (s->high - s->low);
    if (s->kind == TG_SCALE_COUNT)
        return expm1(place * log1p(s->high));
    if (s->kind == TG_SCALE_LOG)
        return s->high * pow(10, (place - 1) * TG_SCALE_DECADES);
    return place * place * s->high;
}

static int by_size(const void *one, const void *other)
{
    const float p = *(const float *)one, q = *(const float *)other;

    return (p > q) - (p < q);
}

double tg_scale_top(float *maxima, size_t n)
{
    double top;

    qsort(maxima, n, sizeof *maxima, by_size);
    top = (double)maxima[n - 1 - n / 10];
    return top > 0.9 ? 1 : top;
}
