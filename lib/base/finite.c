#include "lib/base/finite.h"

#include <math.h>

#include "lib/base/atomic_min.h"
#include "lib/base/convert.h"
#include "lib/base/threads.h"

#define GROUP ((size_t)32)      /* values; the fixed count lets the compiler use vectors */
#define GRAIN ((size_t)1 << 15) /* values that a thread checks at once */

static bool floats_are_finite(const float *x)
{
    unsigned bad = 0;

    for (size_t i = 0; i < GROUP; i++)
        bad |= !tg_is_finite(x[i]);
    return bad == 0;
}

/* The first of values i .. end - 1 that is not finite, or end. */
static size_t find_float(const void *values, size_t i, size_t end)
{
    const float *x = values;

    while (i + GROUP <= end && floats_are_finite(x + i))
        i += GROUP;
    while (i < end && tg_is_finite(x[i]))
        i++;
    return i;
}

static bool halves_are_finite(const tg_bf16 *x)
{
    uint16_t bad = 0;

    for (size_t i = 0; i < GROUP; i++)
        bad |= (uint16_t) - !tg_bf16_is_finite(x[i]);
    return bad == 0;
}

static size_t find_half(const void *values, size_t i, size_t end)
{
    const tg_bf16 *x = values;

    while (i + GROUP <= end && halves_are_finite(x + i))
        i += GROUP;
    while (i < end && tg_bf16_is_finite(x[i]))
        i++;
    return i;
}

struct values {
    const void *x;
    size_t (*find)(const void *values, size_t i, size_t end);
    atomic_size_t first; /* that is not finite, of those seen */
};

static void search(void *context, size_t begin, size_t end)
{
    struct values *v = context;
    const size_t bad = v->find(v->x, begin, end);

    if (bad < end)
        tg_atomic_min(&v->first, bad);
}

static size_t find(const void *x, size_t n, size_t (*find_one)(const void *values, size_t i, size_t end))
{
    struct values v = {.x = x, .find = find_one, .first = n};

    tg_threads_run(n, GRAIN, search, &v);
    return v.first;
}

size_t tg_find_not_finite(const float *x, size_t n)
{
    return find(x, n, find_float);
}

size_t tg_find_not_finite16(const tg_bf16 *x, size_t n)
{
    return find(x, n, find_half);
}

size_t tg_find_not_finite64(const double *x, size_t n)
{
    size_t i = 0;

    while (i < n && isfinite(x[i]))
        i++;
    return i;
}

size_t tg_find_not_finite_rounded(const double *x, size_t n)
{
    size_t i = 0;

    while (i < n && isfinite((float)x[i]))
        i++;
    return i;
}

tg_status tg_fail_not_finite(const char *name, size_t at, double x, tg_err *err)
{
    return tg_fail(err, TG_EDATA, "%s[%zu] is %g: it must be finite%s", name, at, isnan(x) ? fabs(x) : x,
                   isfinite(x) ? " as float32" : "");
}

tg_status tg_check_finite(const char *name, const float *x, size_t n, tg_err *err)
{
    const size_t at = tg_find_not_finite(x, n);

    return at == n ? TG_OK : tg_fail_not_finite(name, at, (double)x[at], err);
}
