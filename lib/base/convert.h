/* convert: float32 values as double, for references that compute in double precision. */
#ifndef TG_BASE_CONVERT_H
#define TG_BASE_CONVERT_H

#include <stddef.h>

/* out[i] = in[i] for i < n, exactly.  out and in do not overlap. */
static inline void tg_double_from_float(double *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (double)in[i];
}

#endif
