#include "lib/attn/linear64.h"

#include "lib/base/size.h"

#define ROWS 8     /* that share what is read of w */
#define COLUMNS 32 /* of out: their sums stay in the nearest cache */

/* out[0..rows, o0..o0+width) */
static void forward_block(double *out, const double *inp, const float *w, const float *bias, size_t rows,
                          size_t C, size_t OC, size_t width)
{
    double sum[ROWS][COLUMNS] = {{0}};
    double w_c[COLUMNS] = {0};

    for (size_t c = 0; c < C; c++) {
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
            out[n * OC + o] = bias ? sum[n][o] + (double)bias[o] : sum[n][o];
    }
}

void tg_linear64_forward(double *out, const double *inp, const float *w, const float *bias, size_t N,
                         size_t C, size_t OC)
{
    #pragma omp parallel for schedule(static)
    for (size_t o = 0; o < OC; o += COLUMNS) {
        for (size_t n = 0; n < N; n += ROWS)
            forward_block(out + n * OC + o, inp + n * C, w + o, bias ? bias + o : NULL,
                          tg_size_min(ROWS, N - n), C, OC, tg_size_min(COLUMNS, OC - o));
    }
}

/* dinp[0..rows, c] for one row w_c [OC] of w. */
static void backward_block(double *dinp, const double *dout, const float *w_c, size_t rows, size_t C,
                           size_t OC)
{
    double sum[ROWS] = {0};

    if (rows == ROWS) { /* of known number: the sums stay in registers */
        for (size_t o = 0; o < OC; o++) {
            for (size_t n = 0; n < ROWS; n++)
                sum[n] += dout[n * OC + o] * (double)w_c[o];
        }
    } else {
        for (size_t n = 0; n < rows; n++) {
            for (size_t o = 0; o < OC; o++)
                sum[n] += dout[n * OC + o] * (double)w_c[o];
        }
    }
    for (size_t n = 0; n < rows; n++)
        dinp[n * C] = sum[n];
}

void tg_linear64_transposed(double *dinp, const double *dout, const float *w, size_t N, size_t C, size_t OC)
{
    #pragma omp parallel for schedule(static)
    for (size_t c = 0; c < C; c++) {
        for (size_t n = 0; n < N; n += ROWS)
            backward_block(dinp + n * C + c, dout + n * OC, w + c * OC, tg_size_min(ROWS, N - n), C, OC);
    }
}
