/* widen: float32 as the doubles that the references in double precision compute with. */
#ifndef TG_ATTN_WIDEN_H
#define TG_ATTN_WIDEN_H

#include <stddef.h>

/* out[i] = in[i], exactly; the two do not overlap. */
static inline void tg_double_from_float(double *out, const float *in, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (double)in[i];
}

#endif
