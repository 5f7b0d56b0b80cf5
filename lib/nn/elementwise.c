#include "lib/nn/elementwise.h"

#include <string.h>

#include "lib/base/threads.h"

#ifdef TG_TINY_CHUNK
#define CHUNK TG_TINY_CHUNK
#else
#define CHUNK ((size_t)1 << 15) /* elements that a thread takes at a time */
#endif

struct elements {
    float *out;
    const float *a, *b;
};

static void zero(void *context, size_t begin, size_t end)
{
    const struct elements *e = context;

    memset(e->out + begin, 0, (end - begin) * sizeof *e->out);
}

void tg_zero(float *x, size_t n)
{
    tg_threads_run(n, CHUNK, zero, &(struct elements){x, NULL, NULL});
}

void tg_zero_rows(tg_matrix m, size_t N)
{
    if (m.type == TG_TYPE_DOUBLE)
        memset(tg_doubles(m), 0, N * m.cols * sizeof(double));
    else
        tg_zero(tg_floats(m), N * m.cols);
}

static void copy(void *context, size_t begin, size_t end)
{
    const struct elements *e = context;

    memcpy(e->out + begin, e->a + begin, (end - begin) * sizeof *e->out);
}

void tg_copy(float *out, const float *inp, size_t n)
{
    tg_threads_run(n, CHUNK, copy, &(struct elements){out, inp, NULL});
}

static void add(void *context, size_t begin, size_t end)
{
    const struct elements *e = context;

    for (size_t i = begin; i < end; i++)
        e->out[i] = e->a[i] + e->b[i];
}

void tg_add(float *out, const float *a, const float *b, size_t n)
{
    tg_threads_run(n, CHUNK, add, &(struct elements){out, a, b});
}

double tg_mean(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum / (double)n;
}
