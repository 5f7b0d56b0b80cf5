#include "lib/nn/linear64.h"

#include <assert.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"

#define ROWS 8     /* of inp, computed together: w is read once for all of them */
#define COLUMNS 32 /* of out, computed together: their sums stay in the first-level cache */

/* A product's arrays, with its rows and w's shape. */
struct product {
    double *out;
    const double *inp;
    const float *w;
    size_t N, C, OC;
    bool adds;
    size_t first, end; /* columns of inp; all others are 0 in every row */
};

static bool column_is_zero(const double *inp, size_t N, size_t width, size_t column)
{
    bool zero = true;

    for (size_t n = 0; n < N && zero; n++)
        zero = inp[n * width + column] == 0;
    return zero;
}

/* The gradient of one head is 0 in all columns of the others, which are skipped. */
static void set_range(struct product *p, size_t width)
{
    p->end = width;
    while (p->first < p->end && column_is_zero(p->inp, p->N, width, p->first))
        p->first++;
    while (p->first < p->end && column_is_zero(p->inp, p->N, width, p->end - 1))
        p->end--;
}

/* out[0..rows, o0..o0+width), which is added to if `adds` */
static void forward_block(const struct product *p, double *out, const double *inp, const float *w,
                          size_t rows, size_t width)
{
    const size_t C = p->C, OC = p->OC;
    double sum[ROWS][COLUMNS] = {{0}};
    double w_c[COLUMNS] = {0};

    for (size_t c = p->first; c < p->end; c++) {
        for (size_t o = 0; o < width; o++)
            w_c[o] = (double)w[c * OC + o];
        for (size_t n = 0; n < rows; n++) {
            const double x = inp[n * C + c];

#pragma omp simd
            for (size_t o = 0; o < COLUMNS; o++)
                sum[n][o] += x * w_c[o];
        }
    }
    for (size_t n = 0; n < rows; n++) {
        for (size_t o = 0; o < width; o++)
            out[n * OC + o] = p->adds ? out[n * OC + o] + sum[n][o] : sum[n][o];
    }
}

/* The grain for columns that cost C multiply-adds in each row. */
static size_t grain(size_t N, size_t C, size_t unit)
{
    return tg_threads_grain(tg_size_mul_sat(N, C), unit);
}

static void product_columns(void *context, size_t begin, size_t end)
{
    const struct product *p = context;

    for (size_t o = begin; o < end; o += COLUMNS)
        for (size_t n = 0; n < p->N; n += ROWS)
            forward_block(p, p->out + n * p->OC + o, p->inp + n * p->C, p->w + o, tg_size_min(ROWS, p->N - n),
                          tg_size_min(COLUMNS, p->OC - o));
}

/* out[n,o] = sum over c of inp[n,c] * w[c,o], w [C,OC]; added if `adds` */
static void product(double *out, const double *inp, const float *w, size_t N, size_t C, size_t OC, bool adds)
{
    struct product p = {out, inp, w, N, C, OC, adds, 0, 0};

    set_range(&p, C);
    tg_threads_run(OC, grain(N, p.end - p.first, COLUMNS), product_columns, &p);
}

/* dinp[0..rows, c] for one row w_c [OC] of w. */
static void transposed_block(const struct product *p, double *dinp, const double *dout, const float *w_c,
                             size_t rows)
{
    const size_t C = p->C, OC = p->OC;
    double sum[ROWS] = {0};

    if (rows == ROWS) { /* a constant count: the sums stay in registers */
        for (size_t o = p->first; o < p->end; o++) {
            for (size_t n = 0; n < ROWS; n++)
                sum[n] += dout[n * OC + o] * (double)w_c[o];
        }
    } else {
        for (size_t n = 0; n < rows; n++) {
            for (size_t o = p->first; o < p->end; o++)
                sum[n] += dout[n * OC + o] * (double)w_c[o];
        }
    }
    for (size_t n = 0; n < rows; n++)
        dinp[n * C] = p->adds ? dinp[n * C] + sum[n] : sum[n];
}

static void product_rows(void *context, size_t begin, size_t end)
{
    const struct product *p = context;
    const size_t C = p->C, OC = p->OC;

    for (size_t c = begin; c < end; c++)
        for (size_t n = 0; n < p->N; n += ROWS)
            transposed_block(p, p->out + n * C + c, p->inp + n * OC, p->w + c * OC,
                             tg_size_min(ROWS, p->N - n));
}

/* dinp[n,c] = sum over o of dout[n,o] * w[c,o], w [C,OC]; added if `adds` */
static void product_transposed(double *dinp, const double *dout, const float *w, size_t N, size_t C,
                               size_t OC, bool adds)
{
    struct product p = {dinp, dout, w, N, C, OC, adds, 0, 0};

    set_range(&p, OC);
    tg_threads_run(C, grain(N, p.end - p.first, 1), product_rows, &p);
}

/* out[n,o] += bias[o] */
static void add_bias(double *out, const float *bias, size_t N, size_t OC)
{
    for (size_t n = 0; bias && n < N; n++)
        for (size_t o = 0; o < OC; o++)
            out[n * OC + o] += (double)bias[o];
}

void tg_linear64_forward(double *out, const double *add, const double *inp, const tg_linear *linear, size_t N)
{
    const size_t in = linear->in, width = linear->out;

    assert(out != add && linear->w_type == TG_TYPE_FLOAT);
    if (linear->transposed)
        product_transposed(out, inp, linear->w, N, width, in, false);
    else
        product(out, inp, linear->w, N, in, width, false);
    add_bias(out, linear->b, N, width);
    for (size_t i = 0; add && i < N * width; i++)
        out[i] += add[i];
}

void tg_linear64_backward(double *dinp, const double *dout, const tg_linear *linear, size_t N)
{
    assert(!linear->dw && !linear->db && linear->w_type == TG_TYPE_FLOAT);
    if (linear->transposed)
        product(dinp, dout, linear->w, N, linear->out, linear->in, linear->adds);
    else
        product_transposed(dinp, dout, linear->w, N, linear->in, linear->out, linear->adds);
}
