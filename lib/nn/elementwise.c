#include "lib/nn/elementwise.h"

#include <string.h>

#include "lib/base/size.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)1 << 16) /* elements per thread at a time */
#endif

void tg_zero(float *x, size_t n)
{
    #pragma omp parallel for schedule(static) if (n > CHUNK)
    for (size_t i = 0; i < n; i += CHUNK)
        memset(x + i, 0, tg_size_min(CHUNK, n - i) * sizeof *x);
}

void tg_copy(float *out, const float *inp, size_t n)
{
    #pragma omp parallel for schedule(static) if (n > CHUNK)
    for (size_t i = 0; i < n; i += CHUNK)
        memcpy(out + i, inp + i, tg_size_min(CHUNK, n - i) * sizeof *out);
}

void tg_add(float *out, const float *a, const float *b, size_t n)
{
    #pragma omp parallel for schedule(static) if (n > CHUNK)
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] + b[i];
}

double tg_mean(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum / (double)n;
}
