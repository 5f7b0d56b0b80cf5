/* Float32 rounded to 16 bits. */
#include <stdatomic.h>

#include "lib/base/convert.h"
#include "lib/base/threads.h"
#include "lib/models/model_format.h"

/* A type of 16 bits. */
struct type {
    const char *name, *max;
    uint16_t exponent; /* its bits: all ones in infinities and NaNs */
    bool (*round)(void *out, const float *x, size_t n);
};

struct rounding {
    const struct type *type;
    uint16_t *out;
    const float *x;
    atomic_bool bad; /* some result is not finite */
};

static void round_some(void *context, size_t begin, size_t end)
{
    struct rounding *r = context;

    if (!r->type->round(r->out + begin, r->x + begin, end - begin))
        r->bad = true;
}

static tg_status round_all(const struct type *type, uint16_t *out, const float *x, size_t n, const char *name,
                           tg_err *err)
{
    struct rounding r = {.type = type, .out = out, .x = x};
    size_t i = 0;

    tg_threads_run(n, TG_THREADS_ELEMENTS, round_some, &r);
    if (!r.bad)
        return TG_OK;
    while ((out[i] & type->exponent) != type->exponent)
        i++;
    return tg_fail(err, TG_EDATA, "%s[%zu] is %g: %s holds at most %s", name, i, (double)x[i], type->name,
                   type->max);
}

tg_status tg_to_half(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err)
{
    static const struct type half = {"f16", "65504", 0x7C00, tg_round_to_half};

    return round_all(&half, out, x, n, name, err);
}

tg_status tg_to_bf16(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err)
{
    static const struct type bf16 = {"bf16", "3.39e38", 0x7F80, tg_round_to_bf16};

    return round_all(&bf16, out, x, n, name, err);
}
