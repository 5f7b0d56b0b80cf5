#include "lib/nn/crossentropy.h"

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"
#include "lib/nn/linear.h"

/* Rows whose logits are held at a time: some MiB of them, but enough rows for the
 * matrix product to be efficient. */
static size_t block_rows(size_t N, size_t V)
{
    size_t rows = ((size_t)1 << 22) / V;

    return tg_size_min(N, rows < 256 ? 256 : rows);
}

size_t tg_head_logits(size_t N, size_t V)
{
    return block_rows(N, V) * V;
}

static void each_row(float *losses, float *logits, const int32_t *targets, float scale, size_t N, size_t V)
{
    const tg_kernels *kernels = tg_kernels_get();

    #pragma omp parallel for schedule(static) if (N * V > 16384)
    for (size_t n = 0; n < N; n++)
        losses[n] = kernels->crossentropy_row(logits + n * V, V, (size_t)targets[n], scale);
}

void tg_crossentropy_forward(float *losses, float *logits, const int32_t *targets, size_t N, size_t V)
{
    each_row(losses, logits, targets, 0, N, V);
}

void tg_crossentropy_backward(float *losses, float *logits, const int32_t *targets, float scale, size_t N,
                              size_t V)
{
    each_row(losses, logits, targets, scale, N, V);
}

static void block_forward(float *logits, const float *inp, const tg_head *head, size_t rows,
                          const tg_matmul_scratch *scratch)
{
    /* logits = inp w^T + bias */
    const tg_matmul op = {
        .M = rows, .N = head->V, .K = head->C,
        .a = inp, .a_row = head->C, .a_col = 1,
        .b = head->w, .b_row = 1, .b_col = head->C,
        .c = logits, .ldc = head->V,
        .bias = head->bias,
    };

    tg_matmul_run(&op, scratch);
}

static void block_backward(float *dinp, const float *dlogits, const float *inp, const tg_head *head,
                           size_t rows, const tg_matmul_scratch *scratch)
{
    /* dinp = dlogits w */
    const tg_matmul to_input = {
        .M = rows, .N = head->C, .K = head->V,
        .a = dlogits, .a_row = head->V, .a_col = 1,
        .b = head->w, .b_row = head->C, .b_col = 1,
        .c = dinp, .ldc = head->C,
    };
    /* dw += dlogits^T inp */
    const tg_matmul to_weight = {
        .M = head->V, .N = head->C, .K = rows,
        .a = dlogits, .a_row = 1, .a_col = head->V,
        .b = inp, .b_row = head->C, .b_col = 1,
        .c = head->dw, .ldc = head->C,
        .accumulate = true,
    };

    tg_matmul_run(&to_input, scratch);
    tg_matmul_run(&to_weight, scratch);
    if (head->dbias)
        tg_bias_backward(head->dbias, dlogits, head->V, rows, head->V);
}

void tg_head_loss(float *losses, float *dinp, const float *inp, const int32_t *targets, const tg_head *head,
                  float scale, size_t N, float *logits, const tg_matmul_scratch *scratch)
{
    const size_t most = block_rows(N, head->V), C = head->C;

    for (size_t n = 0; n < N; n += most) {
        size_t rows = tg_size_min(most, N - n);

        block_forward(logits, inp + n * C, head, rows, scratch);
        if (dinp) {
            tg_crossentropy_backward(losses + n, logits, targets + n, scale, rows, head->V);
            block_backward(dinp + n * C, logits, inp + n * C, head, rows, scratch);
        } else {
            tg_crossentropy_forward(losses + n, logits, targets + n, rows, head->V);
        }
    }
}
