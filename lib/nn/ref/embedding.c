#include "lib/nn/ref/real.h"

void REF(embedding_forward)(real *out, const int32_t *ids, const real *wte, const real *wpe, size_t B,
                            size_t T, size_t C)
{
    for (size_t b = 0; b < B; b++) {
        for (size_t t = 0; t < T; t++) {
            size_t id = (size_t)ids[b * T + t];

            for (size_t c = 0; c < C; c++)
                out[(b * T + t) * C + c] = wte[id * C + c] + wpe[t * C + c];
        }
    }
}

void REF(embedding_backward)(real *dwte, real *dwpe, const real *dout, const int32_t *ids, size_t B, size_t T,
                             size_t C)
{
    for (size_t b = 0; b < B; b++) {
        for (size_t t = 0; t < T; t++) {
            size_t id = (size_t)ids[b * T + t];

            for (size_t c = 0; c < C; c++) {
                dwte[id * C + c] += dout[(b * T + t) * C + c];
                dwpe[t * C + c] += dout[(b * T + t) * C + c];
            }
        }
    }
}
