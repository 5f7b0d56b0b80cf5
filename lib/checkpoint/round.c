/* Float32 rounded to 16 bits. */
#include <stdatomic.h>

#include "lib/base/convert.h"
#include "lib/base/threads.h"
#include "lib/checkpoint/model_format.h"

static tg_status too_large(const uint16_t *out, const float *x, size_t n, uint16_t infinite, const char *type,
                           const char *max, const char *name, tg_err *err)
{
    for (size_t i = 0; i < n; i++)
        if ((out[i] & infinite) == infinite)
            return tg_fail(err, TG_EDATA, "%s[%zu] is %g: %s holds at most %s", name, i, (double)x[i], type,
                           max);
    return TG_OK;
}

struct values {
    uint16_t *out;
    const float *x;
    atomic_bool bad; /* one of them became infinite */
};

static void to_half(void *context, size_t begin, size_t end)
{
    struct values *v = context;
    unsigned bad = 0;

    for (size_t i = begin; i < end; i++) {
        v->out[i] = tg_half_from_float(v->x[i]);
        bad |= (v->out[i] & 0x7C00) == 0x7C00;
    }
    if (bad)
        v->bad = true;
}

tg_status tg_to_half(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err)
{
    struct values v = {.out = out, .x = x};

    tg_threads_run(n, TG_THREADS_ELEMENTS, to_half, &v);
    return v.bad ? too_large(out, x, n, 0x7C00, "f16", "65504", name, err) : TG_OK;
}

static void to_bf16(void *context, size_t begin, size_t end)
{
    struct values *v = context;
    unsigned bad = 0;

    for (size_t i = begin; i < end; i++) {
        v->out[i] = tg_bf16_from_float(v->x[i]);
        bad |= (v->out[i] & 0x7F80) == 0x7F80;
    }
    if (bad)
        v->bad = true;
}

tg_status tg_to_bf16(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err)
{
    struct values v = {.out = out, .x = x};

    tg_threads_run(n, TG_THREADS_ELEMENTS, to_bf16, &v);
    return v.bad ? too_large(out, x, n, 0x7F80, "bf16", "3.39e38", name, err) : TG_OK;
}
