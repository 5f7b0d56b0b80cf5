#include "lib/nn/linear.h"

#include <assert.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/linear64.h"
#include "lib/nn/ref/ref.h"

/* ---- forward */

/* c = inp W (+ b) */
static tg_matmul product(tg_matrix c, tg_matrix inp, const tg_linear *linear, size_t N)
{
    const bool t = linear->transposed;

    return (tg_matmul){
        .M = N,
        .N = linear->out,
        .K = linear->in,
        .a = inp.data,
        .a_type = inp.type,
        .a_row = inp.ld,
        .a_col = 1,
        .b = linear->w,
        .b_type = linear->w_type,
        .b_row = t ? 1 : linear->out,
        .b_col = t ? linear->in : 1,
        .c = c.data,
        .c_type = c.type,
        .ldc = c.ld,
        .bias = linear->b,
    };
}

/* Rows of w that are read at a time: whole parts of the sums of backward, whose bits are then those of one
 * product. */
static size_t strip_rows(const tg_linear *linear)
{
    const size_t part = tg_matmul_part(linear->out, linear->scratch->precision);
    const size_t parts = TG_STRIP_FLOATS / linear->in / part;

    return part * tg_size_max(1, parts);
}

static const float *read_rows(const tg_linear *linear, size_t first, size_t n)
{
    return linear->rows.read(linear->rows.source, first, n);
}

/* Each strip is some columns of c. */
static void forward_strips(const tg_matmul *whole, const tg_linear *linear)
{
    const size_t strip = strip_rows(linear);

    assert(!whole->map && whole->c_type == TG_TYPE_FLOAT);
    for (size_t first = 0; first < whole->N; first += strip) {
        tg_matmul op = *whole;

        op.N = tg_size_min(strip, whole->N - first);
        op.b = read_rows(linear, first, op.N);
        op.c = (float *)whole->c + first;
        op.bias = whole->bias ? whole->bias + first : NULL;
        op.add = whole->add ? whole->add + first : NULL;
        tg_matmul_run(&op, linear->scratch);
    }
}

static void run_forward(const tg_matmul *op, const tg_linear *linear)
{
    if (linear->packed)
        tg_packed_matrix_run(op, linear->packed);
    else if (linear->rows.read)
        forward_strips(op, linear);
    else
        tg_matmul_run(op, linear->scratch);
}

void tg_linear_forward(tg_matrix out, tg_matrix add, tg_matrix inp, const tg_linear *linear, size_t N)
{
    tg_matmul op = product(out, inp, linear, N);

    if (inp.type == TG_TYPE_DOUBLE) {
        tg_linear64_forward(tg_doubles(out), add.data, tg_doubles(inp), linear, N);
        return;
    }
    op.add = add.data;
    run_forward(&op, linear);
}

void tg_linear_activation_forward(tg_matrix out, tg_matrix pre, tg_matrix inp, const tg_linear *linear,
                                  tg_activation kind, size_t N)
{
    tg_matmul op = product(pre, inp, linear, N);

    if (inp.type == TG_TYPE_DOUBLE) {
        tg_linear64_forward(tg_doubles(pre), NULL, tg_doubles(inp), linear, N);
        tg_activation_forward(out, pre, N, kind);
        return;
    }
    op.map = tg_activation_elements(kind);
    op.mapped = out.data;
    run_forward(&op, linear);
}

/* ---- backward */

struct columns {
    float *db;
    tg_matrix dout;
    size_t N;
};

static void add_columns(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct columns *of = context;
    const tg_matrix dout = of->dout;

    for (size_t c = begin; c < end; c += TG_COLUMNS) {
        const size_t n = tg_size_min(TG_COLUMNS, end - c);

        if (dout.type == TG_TYPE_BF16)
            kernels->add_rows16(of->db + c, tg_halves(dout) + c, dout.ld, of->N, n);
        else
            kernels->add_rows(of->db + c, tg_floats(dout) + c, dout.ld, of->N, n);
    }
}

void tg_bias_backward(float *db, tg_matrix dout, size_t N)
{
    tg_threads_run(dout.cols, tg_threads_grain(N, TG_COLUMNS), add_columns, &(struct columns){db, dout, N});
}

/* dw += inp^T dout; for a transposed W, dw += dout^T inp (= if linear->overwrite) */
static void weight_backward(tg_matrix dout, tg_matrix inp, const tg_linear *linear, size_t N)
{
    const bool t = linear->transposed;
    const tg_matrix a = t ? dout : inp, b = t ? inp : dout;

    tg_matmul_run(
        &(tg_matmul){
            .M = t ? linear->out : linear->in,
            .N = t ? linear->in : linear->out,
            .K = N,
            .a = a.data,
            .a_type = a.type,
            .a_row = 1,
            .a_col = a.ld,
            .b = b.data,
            .b_type = b.type,
            .b_row = b.ld,
            .b_col = 1,
            .c = linear->dw,
            .ldc = t ? linear->in : linear->out,
            .accumulate = !linear->overwrite,
        },
        linear->scratch);
}

/* Each strip is some k of the sums. */
static void backward_strips(const tg_matmul *whole, const tg_linear *linear)
{
    const size_t strip = strip_rows(linear), part = tg_matmul_part(whole->K, linear->scratch->precision);

    assert(!whole->slope && whole->c_type == TG_TYPE_FLOAT);
    for (size_t first = 0; first < whole->K; first += strip) {
        tg_matmul op = *whole;

        op.K = tg_size_min(strip, whole->K - first);
        op.part = part;
        op.a = (const char *)whole->a + first * tg_type_size(whole->a_type);
        op.b = read_rows(linear, first, op.K);
        op.accumulate = whole->accumulate || first > 0;
        tg_matmul_run(&op, linear->scratch);
    }
}

/* dinp = dout W^T, multiplied with slope(pre) unless that is NULL */
static void input_backward(tg_matrix dinp, tg_matrix dout, const tg_linear *linear, size_t N,
                           tg_activation_function slope, const void *pre)
{
    const bool t = linear->transposed;
    const tg_matmul op = {
        .M = N,
        .N = linear->in,
        .K = linear->out,
        .a = dout.data,
        .a_type = dout.type,
        .a_row = dout.ld,
        .a_col = 1,
        .b = linear->w,
        .b_type = linear->w_type,
        .b_row = t ? linear->in : 1,
        .b_col = t ? 1 : linear->out,
        .c = dinp.data,
        .c_type = dinp.type,
        .ldc = dinp.ld,
        .accumulate = linear->adds,
        .slope = slope,
        .pre = pre,
    };

    if (linear->rows.read)
        backward_strips(&op, linear);
    else
        tg_matmul_run(&op, linear->scratch);
}

/* The parameters' first: dinp may be inp. */
static void backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear, size_t N,
                     tg_activation_function slope, const void *pre)
{
    if (linear->dw)
        weight_backward(dout, inp, linear, N);
    if (linear->low_rank.da)
        tg_low_rank_backward(&linear->low_rank, dout, inp, linear->overwrite, linear->scratch, N);
    if (linear->db && linear->overwrite)
        memset(linear->db, 0, linear->out * sizeof *linear->db);
    if (linear->db)
        tg_bias_backward(linear->db, dout, N);
    if (dinp.data)
        input_backward(dinp, dout, linear, N, slope, pre);
}

void tg_linear_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, const tg_linear *linear, size_t N)
{
    if (dout.type == TG_TYPE_DOUBLE)
        tg_linear64_backward(tg_doubles(dinp), tg_doubles(dout), linear, N);
    else
        backward(dinp, dout, inp, linear, N, NULL, NULL);
}

static void after_activation64(double *dpre, const double *dout, const double *pre, const tg_linear *linear,
                               tg_activation kind, size_t N)
{
    const double one = 1;

    tg_linear64_backward(dpre, dout, linear, N);
    for (size_t i = 0; i < N * linear->in; i++) {
        double slope = 0;

        tg_activation_backward_ref64(&slope, &one, &pre[i], 1, kind);
        dpre[i] *= slope;
    }
}

void tg_linear_after_activation_backward(tg_matrix dpre, tg_matrix dout, tg_matrix inp, tg_matrix pre,
                                         const tg_linear *linear, tg_activation kind, size_t N)
{
    if (dout.type == TG_TYPE_DOUBLE)
        after_activation64(tg_doubles(dpre), tg_doubles(dout), tg_doubles(pre), linear, kind, N);
    else
        backward(dpre, dout, inp, linear, N, tg_activation_gradient_elements(kind), pre.data);
}
