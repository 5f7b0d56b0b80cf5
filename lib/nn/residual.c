#include "lib/nn/residual.h"

#include "lib/nn/elementwise.h"

void tg_residual_forward(float *out, const float *residual, const float *inp, const tg_linear *linear,
                         const tg_dropout *drop, float *scratch, size_t N)
{
    if (drop->p == 0) {
        tg_linear_forward(out, residual, inp, linear, N);
        return;
    }
    tg_linear_forward(scratch, NULL, inp, linear, N);
    tg_dropout_apply(scratch, drop, N * linear->out);
    tg_add(out, residual, scratch, N * linear->out);
}

void tg_residual_backward(float *dinp, const float *dout, const float *inp, const tg_linear *linear,
                          const tg_dropout *drop, float *scratch, size_t N)
{
    if (drop->p > 0) {
        tg_copy(scratch, dout, N * linear->out);
        tg_dropout_apply(scratch, drop, N * linear->out);
        dout = scratch;
    }
    tg_linear_backward(dinp, dout, inp, linear, N);
}
