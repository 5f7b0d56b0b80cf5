#include "lib/nn/embedding.h"

#include "lib/base/size.h"
#include "lib/kernels/kernels.h"

void tg_embedding_forward(float *out, const int32_t *ids, const tg_embedding *embedding, size_t first,
                          size_t B, size_t T)
{
    const size_t C = embedding->C;

    #pragma omp parallel for schedule(static) if (B * T * C > 32768)
    for (size_t bt = 0; bt < B * T; bt++) {
        const float *token = embedding->wte + (size_t)ids[bt] * C;
        const float *position = embedding->wpe + (first + bt % T) * C;

        for (size_t c = 0; c < C; c++)
            out[bt * C + c] = token[c] + position[c];
    }
}

/* Threads divide the columns, so that each sum runs over (b,t) in order even when many
 * rows have the same token. */
void tg_embedding_backward(const float *dout, const int32_t *ids, const tg_embedding *embedding, size_t B,
                           size_t T)
{
    const tg_kernels *kernels = tg_kernels_get();
    const size_t C = embedding->C;

    #pragma omp parallel for schedule(static) if (B * T * C > 32768)
    for (size_t c = 0; c < C; c += TG_COLUMNS) {
        size_t n = tg_size_min(TG_COLUMNS, C - c);

        for (size_t bt = 0; bt < B * T; bt++) {
            kernels->add(embedding->dwte + (size_t)ids[bt] * C + c, dout + bt * C + c, n);
            kernels->add(embedding->dwpe + bt % T * C + c, dout + bt * C + c, n);
        }
    }
}
