#include "lib/nn/crossentropy.h"

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"

/* Rows of logits held at a time: 16 MiB of them, but at least 256, so that the matrix
 * product is efficient. */
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

void tg_head_loss(float *losses, float *dinp, const float *inp, const int32_t *targets, const tg_linear *head,
                  float scale, size_t N, float *logits)
{
    const size_t block = block_rows(N, head->out), C = head->in, V = head->out;

    for (size_t n = 0; n < N; n += block) {
        const size_t rows = tg_size_min(block, N - n);

        tg_linear_forward(logits, NULL, inp + n * C, head, rows);
        if (dinp) {
            tg_crossentropy_backward(losses + n, logits, targets + n, scale, rows, V);
            tg_linear_backward(dinp + n * C, logits, inp + n * C, head, rows);
        } else {
            tg_crossentropy_forward(losses + n, logits, targets + n, rows, V);
        }
    }
}
