#include "lib/nn/linear.h"

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"

void tg_linear_forward(float *out, const float *inp, const float *w, const float *bias, const float *add,
                       size_t N, size_t in, size_t out_width, const tg_matmul_scratch *scratch)
{
    /* out = inp w (+ bias) (+ add) */
    const tg_matmul op = {
        .M = N, .N = out_width, .K = in,
        .a = inp, .a_row = in, .a_col = 1,
        .b = w, .b_row = out_width, .b_col = 1,
        .c = out, .ldc = out_width,
        .bias = bias, .add = add,
    };

    tg_matmul_run(&op, scratch);
}

void tg_linear_gelu_forward(float *out, float *pre, const float *inp, const float *w, const float *bias,
                            size_t N, size_t in, size_t out_width, tg_gelu_kind kind,
                            const tg_matmul_scratch *scratch)
{
    /* pre = inp w (+ bias); out = gelu(pre) */
    const tg_matmul op = {
        .M = N, .N = out_width, .K = in,
        .a = inp, .a_row = in, .a_col = 1,
        .b = w, .b_row = out_width, .b_col = 1,
        .c = pre, .ldc = out_width,
        .bias = bias,
        .map = tg_gelu_elements(kind), .mapped = out,
    };

    tg_matmul_run(&op, scratch);
}

void tg_bias_backward(float *db, const float *dout, size_t ld, size_t N, size_t width)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (N * width > 32768)
    for (size_t c = 0; c < width; c += TG_COLUMNS)
        kernels->add_rows(db + c, dout + c, ld, N, tg_size_min(TG_COLUMNS, width - c));
}

void tg_linear_backward(float *dinp, float *dw, float *dbias, const float *dout, const float *inp,
                        const float *w, size_t N, size_t in, size_t out_width,
                        const tg_matmul_scratch *scratch)
{
    /* dinp = dout w^T */
    const tg_matmul to_input = {
        .M = N, .N = in, .K = out_width,
        .a = dout, .a_row = out_width, .a_col = 1,
        .b = w, .b_row = 1, .b_col = out_width,
        .c = dinp, .ldc = in,
    };
    /* dw += inp^T dout */
    const tg_matmul to_weight = {
        .M = in, .N = out_width, .K = N,
        .a = inp, .a_row = 1, .a_col = in,
        .b = dout, .b_row = out_width, .b_col = 1,
        .c = dw, .ldc = out_width,
        .accumulate = true,
    };

    tg_matmul_run(&to_weight, scratch); /* first: dinp may be inp */
    if (dbias)
        tg_bias_backward(dbias, dout, out_width, N, out_width);
    if (dinp)
        tg_matmul_run(&to_input, scratch);
}
