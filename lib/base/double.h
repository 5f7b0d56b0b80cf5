/* double: float32 as the doubles that the references in double precision compute with. */
#ifndef TG_BASE_DOUBLE_H
#define TG_BASE_DOUBLE_H

#include <stddef.h>

/* out[i] = in[i], exactly; the two do not overlap. */
static inline void tg_double_from_float(double *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (double)in[i];
}

#endif
