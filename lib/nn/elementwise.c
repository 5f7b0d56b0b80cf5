#include "lib/nn/elementwise.h"

#include <assert.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/nn/pieces.h"

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

void tg_add_rows(tg_matrix out, tg_matrix a, tg_matrix b, size_t N)
{
    const size_t n = N * out.cols;

    if (out.type != TG_TYPE_DOUBLE) {
        tg_add(tg_floats(out), tg_floats(a), tg_floats(b), n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        tg_doubles(out)[i] = tg_doubles(a)[i] + tg_doubles(b)[i];
}

struct matrices {
    tg_matrix out, inp;
};

static void copy_pieces(void *context, size_t begin, size_t end)
{
    const struct matrices *m = context;
    float buffer[TG_PIECE];

    for (size_t i = begin; i < end; i += TG_PIECE) {
        const size_t n = tg_size_min(TG_PIECE, end - i);

        tg_piece_write(m->out, 0, i, n, tg_piece_read(m->inp, 0, i, n, buffer));
    }
}

void tg_copy_rows(tg_matrix out, tg_matrix inp, size_t N)
{
    assert(out.ld == out.cols && inp.ld == inp.cols);
    if (out.type == TG_TYPE_DOUBLE)
        memcpy(tg_doubles(out), tg_doubles(inp), N * out.cols * sizeof(double));
    else
        tg_threads_run(N * out.cols, CHUNK, copy_pieces, &(struct matrices){out, inp});
}

double tg_mean(const float *x, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum / (double)n;
}
