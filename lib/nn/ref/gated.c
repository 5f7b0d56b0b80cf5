#include "lib/nn/ref/real.h"

void REF(gated_forward)(real *out, const real *gate, const real *up, size_t n, tg_activation kind)
{
    for (size_t i = 0; i < n; i++) {
        real active;

        REF(activation_forward)(&active, &gate[i], 1, kind);
        out[i] = active * up[i];
    }
}

void REF(gated_backward)(real *dgate, real *dup, const real *dout, const real *gate, const real *up, size_t n,
                         tg_activation kind)
{
    for (size_t i = 0; i < n; i++) {
        const real dactive = dout[i] * up[i];
        real active;

        REF(activation_forward)(&active, &gate[i], 1, kind);
        dup[i] += dout[i] * active;
        REF(activation_backward)(&dgate[i], &dactive, &gate[i], 1, kind);
    }
}
