#include "lib/nn/linear.h"

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

/* Set the product's right-hand side to W [in,out], or to W^T, whichever way W is stored. */
static void set_b(tg_matmul *op, const tg_linear *linear)
{
    op->b = linear->w;
    op->b_row = linear->transposed ? 1 : linear->out;
    op->b_col = linear->transposed ? linear->in : 1;
}

static void set_b_transposed(tg_matmul *op, const tg_linear *linear)
{
    op->b = linear->w;
    op->b_row = linear->transposed ? linear->in : 1;
    op->b_col = linear->transposed ? 1 : linear->out;
}

static void run_forward(tg_matmul *op, const float *inp, const tg_linear *linear, size_t N)
{
    op->M = N;
    op->N = op->ldc = linear->out;
    op->K = op->a_row = linear->in;
    op->a = inp;
    op->a_col = 1;
    op->bias = linear->b;
    set_b(op, linear);
    if (linear->packed)
        tg_packed_matrix_run(op, linear->packed);
    else
        tg_matmul_run(op, linear->scratch);
}

void tg_linear_forward(float *out, const float *add, const float *inp, const tg_linear *linear, size_t N)
{
    /* out = inp W (+ b) (+ add) */
    tg_matmul op = {.c = out, .add = add};

    run_forward(&op, inp, linear, N);
}

void tg_linear_gelu_forward(float *out, float *pre, const float *inp, const tg_linear *linear,
                            tg_gelu_kind kind, size_t N)
{
    /* pre = inp W (+ b); out = gelu(pre) */
    tg_matmul op = {.c = pre, .map = tg_gelu_elements(kind), .mapped = out};

    run_forward(&op, inp, linear, N);
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
    const bool t = linear->transposed;
    const size_t rows = t ? linear->out : linear->in, columns = t ? linear->in : linear->out;
    const tg_matmul op = {
        .M = rows,
        .N = columns,
        .K = N,
        .a = t ? dout : inp,
        .a_row = 1,
        .a_col = rows,
        .b = t ? inp : dout,
        .b_row = columns,
        .b_col = 1,
        .c = linear->dw,
        .ldc = columns,
        .accumulate = true,
    };

    tg_matmul_run(&op, linear->scratch);
}

/* dinp = dout W^T */
static void input_backward(float *dinp, const float *dout, const tg_linear *linear, size_t N)
{
    tg_matmul op = {
        .M = N,
        .N = linear->in,
        .K = linear->out,
        .a = dout,
        .a_row = linear->out,
        .a_col = 1,
        .c = dinp,
        .ldc = linear->in,
    };

    set_b_transposed(&op, linear);
    tg_matmul_run(&op, linear->scratch);
}

void tg_linear_backward(float *dinp, const float *dout, const float *inp, const tg_linear *linear, size_t N)
{
    if (linear->dw)
        weight_backward(dout, inp, linear, N); /* first: dinp may be inp */
    if (linear->db)
        tg_bias_backward(linear->db, dout, linear->out, N, linear->out);
    if (dinp)
        input_backward(dinp, dout, linear, N);
}
