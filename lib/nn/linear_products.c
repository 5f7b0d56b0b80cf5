#include "lib/nn/linear_products.h"

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

tg_matmul tg_linear_product(const tg_linear *linear, size_t N)
{
    tg_matmul op = {
        .M = N,
        .N = linear->out,
        .K = linear->in,
        .a_row = linear->in,
        .a_col = 1,
        .ldc = linear->out,
        .bias = linear->b,
    };

    set_b(&op, linear);
    return op;
}

tg_matmul tg_linear_input_product(const tg_linear *linear, size_t ld, size_t N)
{
    tg_matmul op = {
        .M = N,
        .N = linear->in,
        .K = linear->out,
        .a_row = ld,
        .a_col = 1,
        .ldc = linear->in,
        .accumulate = linear->adds,
    };

    set_b_transposed(&op, linear);
    return op;
}

tg_matmul tg_linear_weight_product(const tg_linear *linear, size_t ld, size_t N)
{
    const bool t = linear->transposed;

    return (tg_matmul){
        .M = t ? linear->out : linear->in,
        .N = t ? linear->in : linear->out,
        .K = N,
        .a_row = 1,
        .a_col = t ? ld : linear->in,
        .b_row = t ? linear->in : ld,
        .b_col = 1,
        .c = linear->dw,
        .ldc = t ? linear->in : linear->out,
        .accumulate = !linear->overwrite,
    };
}
