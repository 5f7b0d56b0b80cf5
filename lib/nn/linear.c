#include "lib/nn/linear.h"

#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/linear_products.h"

static void run_forward(tg_matmul *op, const float *inp, const tg_linear *linear)
{
    op->a = inp;
    if (linear->packed)
        tg_packed_matrix_run(op, linear->packed);
    else
        tg_matmul_run(op, linear->scratch);
}

void tg_linear_forward(float *out, const float *add, const float *inp, const tg_linear *linear, size_t N)
{
    /* out = inp W (+ b) (+ add) */
    tg_matmul op = tg_linear_product(linear, N);

    op.c = out;
    op.add = add;
    run_forward(&op, inp, linear);
}

void tg_linear_gelu_forward(float *out, float *pre, const float *inp, const tg_linear *linear,
                            tg_gelu_kind kind, size_t N)
{
    /* pre = inp W (+ b); out = gelu(pre) */
    tg_matmul op = tg_linear_product(linear, N);

    op.c = pre;
    op.map = tg_gelu_elements(kind);
    op.mapped = out;
    run_forward(&op, inp, linear);
}

struct columns {
    float *db;
    const float *dout;
    size_t ld, N;
};

static void add_columns(void *context, size_t begin, size_t end)
{
    const struct columns *of = context;

    for (size_t c = begin; c < end; c += TG_COLUMNS)
        tg_kernels_get()->add_rows(of->db + c, of->dout + c, of->ld, of->N, tg_size_min(TG_COLUMNS, end - c));
}

void tg_bias_backward(float *db, const float *dout, size_t ld, size_t N, size_t width)
{
    tg_threads_run(width, tg_threads_grain(N, TG_COLUMNS), add_columns, &(struct columns){db, dout, ld, N});
}

/* dw += inp^T dout; for a transposed W, dw += dout^T inp */
static void weight_backward(const float *dout, const float *inp, const tg_linear *linear, size_t N)
{
    tg_matmul op = tg_linear_weight_product(linear, linear->out, N);

    op.a = linear->transposed ? dout : inp;
    op.b = linear->transposed ? inp : dout;
    tg_matmul_run(&op, linear->scratch);
}

static void parameters_backward(const float *dout, const float *inp, const tg_linear *linear, size_t N)
{
    if (linear->dw)
        weight_backward(dout, inp, linear, N);
    if (linear->db && linear->overwrite)
        memset(linear->db, 0, linear->out * sizeof *linear->db);
    if (linear->db)
        tg_bias_backward(linear->db, dout, linear->out, N, linear->out);
}

void tg_linear_backward(float *dinp, const float *dout, const float *inp, const tg_linear *linear, size_t N)
{
    tg_matmul op = tg_linear_input_product(linear, linear->out, N);

    parameters_backward(dout, inp, linear, N); /* first: dinp may be inp */
    if (!dinp)
        return;
    op.a = dout;
    op.c = dinp;
    tg_matmul_run(&op, linear->scratch);
}

void tg_linear_after_gelu_backward(float *dpre, const float *dout, const float *inp, const float *pre,
                                   const tg_linear *linear, tg_gelu_kind kind, size_t N)
{
    tg_matmul op = tg_linear_input_product(linear, linear->out, N);

    parameters_backward(dout, inp, linear, N); /* first: dpre may be inp */
    op.a = dout;
    op.c = dpre;
    op.slope = tg_gelu_gradient_elements(kind);
    op.pre = pre;
    tg_matmul_run(&op, linear->scratch);
}
