#include "lib/nn/rmsnorm.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/nn/pieces.h"
#include "lib/nn/ref/ref.h"

/* The matrices of an operation. */
struct rows {
    tg_matrix out; /* dinp, backward */
    bool adds;
    bool rstd_is_known; /* forward */
    tg_matrix dout, rstd, inp;
    const tg_rmsnorm *norm;
    size_t N;
};

static tg_gains gains_of(const tg_rmsnorm *norm)
{
    return (tg_gains){norm->w, norm->offset};
}

/* Every row has a rstd of its own. */
static void run(const struct rows *r, tg_threads_body *body)
{
    tg_threads_run(r->N, tg_threads_grain(r->norm->C, 1), body, (void *)r);
}

/* ---- float, bf16 */

static float rstd_of(const struct rows *r, size_t n)
{
    const size_t C = r->norm->C;
    float buffer[TG_PIECE];
    double squares = 0;

    for (size_t c = 0; c < C; c += TG_PIECE) {
        const size_t some = tg_size_min(TG_PIECE, C - c);

        squares += tg_kernels_get()->sum_squares(tg_piece_read(r->inp, n, c, some, buffer), some);
    }
    return (float)(1 / sqrt(squares / (double)C + (double)(float)r->norm->epsilon));
}

static void forward_row(const struct rows *r, size_t n)
{
    const tg_gains gains = gains_of(r->norm);
    const size_t C = r->norm->C;
    float from[TG_PIECE], to[TG_PIECE];
    const float rstd = r->rstd_is_known ? tg_floats(r->rstd)[n] : rstd_of(r, n);

    for (size_t c = 0; c < C; c += TG_PIECE) {
        const size_t some = tg_size_min(TG_PIECE, C - c);
        float *out = tg_piece_begin(r->out, n, c, to);

        tg_kernels_get()->rmsnorm_apply(out, tg_piece_read(r->inp, n, c, some, from), rstd, &gains, c, some);
        tg_piece_write(r->out, n, c, some, out);
    }
    tg_floats(r->rstd)[n] = rstd;
}

static void forward_rows(void *context, size_t begin, size_t end)
{
    for (size_t n = begin; n < end; n++)
        forward_row(context, n);
}

/* The mean of dout * gain * inp. */
static double mean_of(const struct rows *r, size_t n)
{
    const tg_gains gains = gains_of(r->norm);
    const size_t C = r->norm->C;
    float a[TG_PIECE], b[TG_PIECE];
    double sum = 0;

    for (size_t c = 0; c < C; c += TG_PIECE) {
        const size_t some = tg_size_min(TG_PIECE, C - c);

        sum += tg_kernels_get()->rmsnorm_dot(tg_piece_read(r->dout, n, c, some, a),
                                             tg_piece_read(r->inp, n, c, some, b), &gains, c, some);
    }
    return sum / (double)C;
}

static void backward_row(const struct rows *r, size_t n)
{
    const tg_gains gains = gains_of(r->norm);
    const size_t C = r->norm->C;
    const float rstd = tg_floats(r->rstd)[n];
    const float factor = (float)(mean_of(r, n) * (double)rstd * (double)rstd * (double)rstd);
    float a[TG_PIECE], b[TG_PIECE], to[TG_PIECE];

    for (size_t c = 0; c < C; c += TG_PIECE) {
        const size_t some = tg_size_min(TG_PIECE, C - c);
        float *dinp = r->adds ? tg_piece_read(r->out, n, c, some, to) : tg_piece_begin(r->out, n, c, to);

        if (!r->adds)
            memset(dinp, 0, some * sizeof *dinp);
        tg_kernels_get()->rmsnorm_backward(dinp, tg_piece_read(r->dout, n, c, some, a),
                                           tg_piece_read(r->inp, n, c, some, b), rstd, factor, &gains, c,
                                           some);
        tg_piece_write(r->out, n, c, some, dinp);
    }
}

static void backward_rows(void *context, size_t begin, size_t end)
{
    for (size_t n = begin; n < end; n++)
        backward_row(context, n);
}

/* dw[c] += sum_n dout[n,c] * inp[n,c] * rstd[n], for the columns begin .. end-1: rows in order */
static void weight_columns(void *context, size_t begin, size_t end)
{
    const struct rows *r = context;
    float a[TG_PIECE], b[TG_PIECE];

    for (size_t c = begin; c < end; c += TG_PIECE) {
        const size_t some = tg_size_min(TG_PIECE, end - c);

        for (size_t n = 0; n < r->N; n++)
            tg_kernels_get()->add_products(r->norm->dw + c, tg_piece_read(r->dout, n, c, some, a),
                                           tg_piece_read(r->inp, n, c, some, b), tg_floats(r->rstd)[n], some);
    }
}

/* ---- double */

static void forward_rows64(void *context, size_t begin, size_t end)
{
    const struct rows *r = context;
    const size_t C = r->norm->C;

    for (size_t n = begin; n < end; n++) {
        double *out = tg_doubles(r->out) + n * C, *rstd = tg_doubles(r->rstd) + n;
        const double *inp = tg_doubles(r->inp) + n * C;

        if (!r->rstd_is_known)
            tg_rmsnorm_forward_ref64(out, rstd, inp, NULL, 0, 1, C, (double)(float)r->norm->epsilon);
        for (size_t c = 0; c < C; c++)
            out[c] = (r->rstd_is_known ? inp[c] * *rstd : out[c]) * tg_rmsnorm_gain(r->norm, c);
    }
}

static void backward_rows64(void *context, size_t begin, size_t end)
{
    const struct rows *r = context;
    const size_t C = r->norm->C;

    for (size_t n = begin; n < end; n++) {
        const double *dout = tg_doubles(r->dout) + n * C, *inp = tg_doubles(r->inp) + n * C;
        double *dinp = tg_doubles(r->out) + n * C;
        const double rstd = tg_doubles(r->rstd)[n];
        double sum = 0;

        for (size_t c = 0; c < C; c++)
            sum += dout[c] * tg_rmsnorm_gain(r->norm, c) * (inp[c] * rstd);
        for (size_t c = 0; c < C; c++)
            dinp[c] = (r->adds ? dinp[c] : 0) +
                      rstd * (dout[c] * tg_rmsnorm_gain(r->norm, c) - inp[c] * rstd * sum / (double)C);
    }
}

/* ---- both kinds */

void tg_rmsnorm_forward(tg_matrix out, tg_matrix rstd, tg_matrix inp, const tg_rmsnorm *norm, size_t N)
{
    const struct rows rows = {.out = out, .rstd = rstd, .inp = inp, .norm = norm, .N = N};

    run(&rows, inp.type == TG_TYPE_DOUBLE ? forward_rows64 : forward_rows);
}

void tg_rmsnorm_recompute(tg_matrix out, tg_matrix rstd, tg_matrix inp, const tg_rmsnorm *norm, size_t N)
{
    const struct rows rows = {
        .out = out, .rstd_is_known = true, .rstd = rstd, .inp = inp, .norm = norm, .N = N};

    run(&rows, inp.type == TG_TYPE_DOUBLE ? forward_rows64 : forward_rows);
}

void tg_rmsnorm_backward(tg_matrix dinp, bool adds, tg_matrix dout, tg_matrix rstd, tg_matrix inp,
                         const tg_rmsnorm *norm, size_t N)
{
    struct rows rows = {
        .out = dinp, .adds = adds, .dout = dout, .rstd = rstd, .inp = inp, .norm = norm, .N = N};

    assert(!norm->dw || inp.type != TG_TYPE_DOUBLE);
    run(&rows, inp.type == TG_TYPE_DOUBLE ? backward_rows64 : backward_rows);
    if (norm->dw)
        tg_threads_run(norm->C, tg_threads_grain(N, TG_COLUMNS), weight_columns, &rows);
}
