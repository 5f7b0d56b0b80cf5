#include "lib/nn/residual.h"

#include <assert.h>

#include "lib/nn/elementwise.h"

void tg_residual_forward(float *out, const float *residual, const float *inp, const tg_linear *linear,
                         const tg_dropout *drop, size_t N)
{
    if (drop->p == 0) {
        tg_linear_forward(out, residual, inp, linear, N);
        return;
    }
    assert(out != residual);
    tg_linear_forward(out, NULL, inp, linear, N);
    tg_dropout_apply(out, drop, N * linear->out);
    tg_add(out, residual, out, N * linear->out);
}

/* The gradient of the linear layer's output: dout, unless some of it is dropped. */
static const float *before_dropout(const float *dout, const tg_dropout *drop, float *scratch, size_t n)
{
    if (drop->p == 0)
        return dout;
    tg_copy(scratch, dout, n);
    tg_dropout_apply(scratch, drop, n);
    return scratch;
}

void tg_residual_backward(float *dinp, const float *dout, const float *inp, const tg_linear *linear,
                          const tg_dropout *drop, float *scratch, size_t N)
{
    tg_linear_backward(dinp, before_dropout(dout, drop, scratch, N * linear->out), inp, linear, N);
}

void tg_residual_after_gelu_backward(float *dpre, const float *dout, const float *inp, const float *pre,
                                     const tg_linear *linear, tg_gelu_kind kind, const tg_dropout *drop,
                                     float *scratch, size_t N)
{
    tg_linear_after_gelu_backward(dpre, before_dropout(dout, drop, scratch, N * linear->out), inp, pre,
                                  linear, kind, N);
}
