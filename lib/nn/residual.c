#include "lib/nn/residual.h"

#include <assert.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/pieces.h"

void tg_residual_forward(tg_matrix out, tg_matrix residual, tg_matrix inp, const tg_linear *linear,
                         const tg_dropout *drop, size_t N)
{
    const tg_matrix none = {0};

    if (drop->p == 0) {
        tg_linear_forward(out, residual, inp, linear, N);
        return;
    }
    assert(out.data != residual.data);
    tg_linear_forward(out, none, inp, linear, N);
    tg_dropout_apply(tg_floats(out), drop, N * linear->out);
    tg_add(tg_floats(out), tg_floats(residual), tg_floats(out), N * linear->out);
}

/* ---- backward */

struct rounding {
    tg_bf16 *out;
    const float *dout;
    const tg_dropout *drop;
};

static void round_elements(void *context, size_t begin, size_t end)
{
    const struct rounding *r = context;
    float values[TG_PIECE];

    for (size_t i = begin; i < end; i += TG_PIECE) {
        const size_t n = tg_size_min(TG_PIECE, end - i);

        if (r->drop->p > 0) {
            tg_dropout_factors(values, r->drop, i, n);
            for (size_t j = 0; j < n; j++)
                values[j] *= r->dout[i + j];
        }
        tg_kernels_get()->round16(r->out + i, r->drop->p > 0 ? values : r->dout + i, n);
    }
}

/* The gradient of the linear layer's output, in the type of its input: dout, unless it is rounded or some of
 * it is dropped. */
static tg_matrix before_dropout(tg_matrix dout, tg_type type, const tg_dropout *drop, tg_matrix scratch,
                                size_t n)
{
    if (type == TG_TYPE_BF16) {
        tg_threads_run(n, TG_THREADS_ELEMENTS, round_elements,
                       &(struct rounding){tg_halves(scratch), tg_floats(dout), drop});
        return scratch;
    }
    if (drop->p == 0)
        return dout;
    tg_copy(tg_floats(scratch), tg_floats(dout), n);
    tg_dropout_apply(tg_floats(scratch), drop, n);
    return scratch;
}

void tg_residual_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear,
                          const tg_dropout *drop, tg_matrix scratch, size_t N)
{
    dout = before_dropout(dout, inp.type, drop, scratch, N * linear->out);
    tg_linear_backward(dinp, dout, inp, linear, N);
}

void tg_residual_after_activation_backward(tg_matrix dpre, tg_matrix dout, tg_matrix inp, tg_matrix pre,
                                           const tg_linear *linear, tg_activation kind,
                                           const tg_dropout *drop, tg_matrix scratch, size_t N)
{
    dout = before_dropout(dout, inp.type, drop, scratch, N * linear->out);
    tg_linear_after_activation_backward(dpre, dout, inp, pre, linear, kind, N);
}
