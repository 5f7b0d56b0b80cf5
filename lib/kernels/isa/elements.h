/* elements: loops over elements, a vector at a time; what is left of one is filled with zeros. */
#ifndef TG_KERNELS_ISA_ELEMENTS_H
#define TG_KERNELS_ISA_ELEMENTS_H

#include <stddef.h>
#include <string.h>

#include "lib/kernels/isa/isa.h"

/* out [n] = f(inp); out may be inp */
INLINE void each(float *out, const float *inp, size_t n, vf (*f)(vf))
{
    size_t i = 0;

    for (; i + VL <= n; i += VL)
        store(out + i, f(load(inp + i)));
    if (i < n) {
        vf last = {0};

        memcpy(&last, inp + i, (n - i) * sizeof *inp);
        last = f(last);
        memcpy(out + i, &last, (n - i) * sizeof *out);
    }
}

/* d [n] *= f(inp) */
INLINE void multiply_each(float *d, const float *inp, size_t n, vf (*f)(vf))
{
    size_t i = 0;

    for (; i + VL <= n; i += VL)
        store(d + i, load(d + i) * f(load(inp + i)));
    if (i < n) {
        vf last = {0}, last_d = {0};

        memcpy(&last, inp + i, (n - i) * sizeof *inp);
        memcpy(&last_d, d + i, (n - i) * sizeof *d);
        last_d *= f(last);
        memcpy(d + i, &last_d, (n - i) * sizeof *d);
    }
}

#endif
