/* Float32 rounded to 16 bits. */
#include "lib/base/convert.h"
#include "lib/checkpoint/model_format.h"

#define THREADS_FROM ((size_t)1 << 16) /* values; for fewer, starting threads costs more than it saves */

static tg_status too_large(const uint16_t *out, const float *x, size_t n, uint16_t infinite, const char *type,
                           const char *max, const char *name, tg_err *err)
{
    for (size_t i = 0; i < n; i++)
        if ((out[i] & infinite) == infinite)
            return tg_fail(err, TG_EDATA, "%s[%zu] is %g: %s holds at most %s", name, i, (double)x[i], type,
                           max);
    return TG_OK;
}

tg_status tg_to_half(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err)
{
    unsigned bad = 0;

#pragma omp parallel for schedule(static) reduction(| : bad) if (n > THREADS_FROM)
    for (size_t i = 0; i < n; i++) {
        out[i] = tg_half_from_float(x[i]);
        bad |= (out[i] & 0x7C00) == 0x7C00;
    }
    return bad ? too_large(out, x, n, 0x7C00, "f16", "65504", name, err) : TG_OK;
}

tg_status tg_to_bf16(uint16_t *out, const float *x, size_t n, const char *name, tg_err *err)
{
    unsigned bad = 0;

#pragma omp parallel for schedule(static) reduction(| : bad) if (n > THREADS_FROM)
    for (size_t i = 0; i < n; i++) {
        out[i] = tg_bf16_from_float(x[i]);
        bad |= (out[i] & 0x7F80) == 0x7F80;
    }
    return bad ? too_large(out, x, n, 0x7F80, "bf16", "3.39e38", name, err) : TG_OK;
}
