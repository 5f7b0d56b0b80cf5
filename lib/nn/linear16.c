/* Linear layers, residual ones and the head, with activations in bf16: see lib/nn/ops16.h. */
#include <assert.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/crossentropy.h"
#include "lib/nn/elementwise.h"
#include "lib/nn/linear_products.h"
#include "lib/nn/ops16.h"

/* ---- forward */

void tg_linear16_forward(tg_bf16 *out, const float *add, const tg_bf16 *inp, const tg_linear *linear,
                         size_t N)
{
    tg_matmul op = tg_linear_product(linear, N);

    (void)add;
    assert(!add);
    op.a16 = inp;
    op.c16 = out;
    tg_matmul_run(&op, linear->scratch);
}

void tg_linear16_gelu_forward(tg_bf16 *out, tg_bf16 *pre, const tg_bf16 *inp, const tg_linear *linear,
                              tg_gelu_kind kind, size_t N)
{
    tg_matmul op = tg_linear_product(linear, N);

    op.a16 = inp;
    op.c16 = pre;
    op.map = tg_gelu_elements(kind);
    op.mapped16 = out;
    tg_matmul_run(&op, linear->scratch);
}

/* out = inp W (+ b) (+ add) in float32 */
static void to_float(float *out, const float *add, const tg_bf16 *inp, const tg_linear *linear, size_t N)
{
    tg_matmul op = tg_linear_product(linear, N);

    op.a16 = inp;
    op.c = out;
    op.add = add;
    tg_matmul_run(&op, linear->scratch);
}

void tg_residual16_forward(float *out, const float *residual, const tg_bf16 *inp, const tg_linear *linear,
                           const tg_dropout *drop, size_t N)
{
    if (drop->p == 0) {
        to_float(out, residual, inp, linear, N);
        return;
    }
    assert(out != residual);
    to_float(out, NULL, inp, linear, N);
    tg_dropout_apply(out, drop, N * linear->out);
    tg_add(out, residual, out, N * linear->out);
}

/* ---- backward */

struct columns {
    float *db;
    const tg_bf16 *dout;
    size_t ld, N;
};

static void add_columns(void *context, size_t begin, size_t end)
{
    const struct columns *of = context;

    tg_kernels_get()->add_rows16(of->db + begin, of->dout + begin, of->ld, of->N, end - begin);
}

/* dw += inp^T dout, db += the sum of dout's rows, which are ld apart */
static void parameters_backward(const tg_bf16 *dout, size_t ld, const tg_bf16 *inp, const tg_linear *linear,
                                size_t N)
{
    tg_matmul op = tg_linear_weight_product(linear, ld, N);

    op.a16 = linear->transposed ? dout : inp;
    op.b16 = linear->transposed ? inp : dout;
    if (linear->dw)
        tg_matmul_run(&op, linear->scratch);
    if (linear->db && linear->overwrite)
        memset(linear->db, 0, linear->out * sizeof *linear->db);
    if (linear->db)
        tg_threads_run(linear->out, tg_threads_grain(N, TG_COLUMNS), add_columns,
                       &(struct columns){linear->db, dout, ld, N});
}

static void backward(float *dinp, const tg_bf16 *dout, size_t ld, const tg_bf16 *inp, const tg_linear *linear,
                     size_t N)
{
    tg_matmul op = tg_linear_input_product(linear, ld, N);

    parameters_backward(dout, ld, inp, linear, N);
    op.a16 = dout;
    op.c = dinp;
    tg_matmul_run(&op, linear->scratch);
}

void tg_linear16_backward(float *dinp, const tg_bf16 *dout, const tg_bf16 *inp, const tg_linear *linear,
                          size_t N)
{
    backward(dinp, dout, linear->out, inp, linear, N);
}

/* The gradient of a residual layer's output, before dropout. */
struct rounding {
    tg_bf16 *out;
    const float *dout;
    const tg_dropout *drop;
};

#define PIECE ((size_t)512) /* elements that are in float32 at a time */

static void round_elements(void *context, size_t begin, size_t end)
{
    const struct rounding *r = context;
    float values[PIECE];

    for (size_t i = begin; i < end; i += PIECE) {
        const size_t n = tg_size_min(PIECE, end - i);

        if (r->drop->p > 0) {
            tg_dropout_factors(values, r->drop, i, n);
            for (size_t j = 0; j < n; j++)
                values[j] *= r->dout[i + j];
        }
        tg_kernels_get()->round16(r->out + i, r->drop->p > 0 ? values : r->dout + i, n);
    }
}

static void round_gradient(tg_bf16 *out, const float *dout, const tg_dropout *drop, size_t n)
{
    tg_threads_run(n, TG_THREADS_ELEMENTS, round_elements, &(struct rounding){out, dout, drop});
}

/* Round dout to scratch, compute the parameters' gradients, and return the product that gives dinp. */
static tg_matmul residual_backward(tg_bf16 *dinp, const float *dout, const tg_bf16 *inp,
                                   const tg_linear *linear, const tg_dropout *drop, tg_bf16 *scratch,
                                   size_t N)
{
    tg_matmul op = tg_linear_input_product(linear, linear->out, N);

    round_gradient(scratch, dout, drop, N * linear->out);
    parameters_backward(scratch, linear->out, inp, linear, N); /* first: dinp may be inp */
    op.a16 = scratch;
    op.c16 = dinp;
    return op;
}

void tg_residual16_backward(tg_bf16 *dinp, const float *dout, const tg_bf16 *inp, const tg_linear *linear,
                            const tg_dropout *drop, tg_bf16 *scratch, size_t N)
{
    const tg_matmul op = residual_backward(dinp, dout, inp, linear, drop, scratch, N);

    tg_matmul_run(&op, linear->scratch);
}

void tg_residual16_after_gelu_backward(tg_bf16 *dpre, const float *dout, const tg_bf16 *inp,
                                       const tg_bf16 *pre, const tg_linear *linear, tg_gelu_kind kind,
                                       const tg_dropout *drop, tg_bf16 *scratch, size_t N)
{
    tg_matmul op = residual_backward(dpre, dout, inp, linear, drop, scratch, N);

    op.slope = tg_gelu_gradient_elements(kind);
    op.pre16 = pre;
    tg_matmul_run(&op, linear->scratch);
}

/* ---- the head */

void tg_head16_loss(float *losses, float *dinp, const tg_bf16 *inp, const int32_t *targets,
                    const tg_linear *head, float scale, size_t N, float *logits)
{
    const size_t C = head->in, V = head->out, block = tg_head_logits(N, V) / V;
    const void *gradients = logits;
    tg_linear some = *head;

    for (size_t n = 0; n < N; n += block) {
        const size_t rows = tg_size_min(block, N - n);

        to_float(logits, NULL, inp + n * C, head, rows);
        if (!dinp) {
            tg_crossentropy_forward(losses + n, logits, targets + n, rows, V);
            continue;
        }
        tg_crossentropy16_backward(losses + n, logits, targets + n, scale, rows, V);
        backward(dinp + n * C, gradients, 2 * V, inp + n * C, &some, rows);
        some.overwrite = false; /* later blocks add to what the first one wrote */
    }
}
