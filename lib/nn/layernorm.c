#include "lib/nn/layernorm.h"

#include <assert.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/nn/pieces.h"
#include "lib/nn/ref/ref.h"

/* The arrays of an operation; what it does not use is NULL. */
struct norm_rows {
    tg_matrix out; /* dinp, backward */
    const float *dout, *inp;
    float *mean, *rstd;
    const tg_layernorm *norm;
    size_t N;
    bool again; /* from the statistics */
};

/* ---- forward */

static const float *from(const float *vector, size_t c)
{
    return vector ? vector + c : NULL;
}

static void apply(const struct norm_rows *r, size_t n)
{
    const size_t C = r->norm->C;
    float values[TG_PIECE];

    for (size_t c = 0; c < C; c += TG_PIECE) {
        const size_t some = tg_size_min(TG_PIECE, C - c);
        float *out = tg_piece_begin(r->out, n, c, values);

        tg_kernels_get()->layernorm_apply(out, r->mean[n], r->rstd[n], r->inp + n * C + c,
                                          from(r->norm->w, c), from(r->norm->b, c), some);
        tg_piece_write(r->out, n, c, some, out);
    }
}

static void forward_rows(void *context, size_t begin, size_t end)
{
    const struct norm_rows *r = context;
    const tg_layernorm *norm = r->norm;

    for (size_t n = begin; n < end; n++) {
        if (!r->again)
            tg_kernels_get()->layernorm_stats(&r->mean[n], &r->rstd[n], r->inp + n * norm->C, norm->C,
                                              (float)norm->epsilon);
        apply(r, n);
    }
}

static double gain(const tg_layernorm *norm, size_t c)
{
    return norm->w ? (double)norm->w[c] : 1;
}

static void forward64(double *out, tg_norm_stats stats, const double *inp, const tg_layernorm *norm, size_t N)
{
    const size_t C = norm->C;

    for (size_t n = 0; n < N; n++) {
        double *out_n = out + n * C;

        tg_layernorm_forward_ref64(out_n, tg_doubles(stats.mean) + n, tg_doubles(stats.rstd) + n, inp + n * C,
                                   NULL, NULL, 1, C, norm->epsilon);
        for (size_t c = 0; c < C; c++)
            out_n[c] = out_n[c] * gain(norm, c) + (norm->b ? (double)norm->b[c] : 0);
    }
}

static void forward(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm, size_t N,
                    bool again)
{
    if (out.type == TG_TYPE_DOUBLE) {
        forward64(tg_doubles(out), stats, tg_doubles(inp), norm, N);
        return;
    }
    tg_threads_run(N, tg_threads_grain(norm->C, 1), forward_rows,
                   &(struct norm_rows){.out = out,
                                       .inp = tg_floats(inp),
                                       .mean = tg_floats(stats.mean),
                                       .rstd = tg_floats(stats.rstd),
                                       .norm = norm,
                                       .again = again});
}

void tg_layernorm_forward(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm,
                          size_t N)
{
    forward(out, stats, inp, norm, N, false);
}

void tg_layernorm_recompute(tg_matrix out, tg_norm_stats stats, tg_matrix inp, const tg_layernorm *norm,
                            size_t N)
{
    forward(out, stats, inp, norm, N, true);
}

/* ---- backward */

static void backward_rows(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct norm_rows *r = context;
    const size_t C = r->norm->C;
    float *dinp = tg_floats(r->out);

    for (size_t n = begin; n < end; n++)
        kernels->layernorm_row_backward(dinp + n * C, r->dout + n * C, r->inp + n * C, r->mean[n], r->rstd[n],
                                        r->norm->w, C);
}

/* dw[c] += sum_n dout[n,c] * (inp[n,c] - mean[n]) * rstd[n] and db[c] += sum_n dout[n,c], for the
 * columns begin .. end-1 */
static void weight_columns(void *context, size_t begin, size_t end)
{
    const struct norm_rows *r = context;
    const tg_layernorm *norm = r->norm;
    const tg_row_range rows = {r->mean, r->rstd, norm->C, r->N};

    tg_kernels_get()->layernorm_columns_backward(norm->dw ? norm->dw + begin : NULL,
                                                 norm->db ? norm->db + begin : NULL, r->dout + begin,
                                                 r->inp + begin, &rows, end - begin);
}

/* out = norm * w + b, norm = (inp - mean) * rstd, where mean and rstd also depend on inp */
static void backward64(double *dinp, const double *dout, const double *inp, tg_norm_stats stats,
                       const tg_layernorm *norm, size_t N)
{
    const size_t C = norm->C;

    assert(!norm->dw && !norm->db);
    for (size_t n = 0; n < N; n++) {
        const double *dout_n = dout + n * C, *inp_n = inp + n * C;
        const double mean = tg_doubles(stats.mean)[n], rstd = tg_doubles(stats.rstd)[n];
        double dnorm_sum = 0, dnorm_norm_sum = 0;

        for (size_t c = 0; c < C; c++) {
            const double dnorm = dout_n[c] * gain(norm, c);

            dnorm_sum += dnorm;
            dnorm_norm_sum += dnorm * ((inp_n[c] - mean) * rstd);
        }
        for (size_t c = 0; c < C; c++) {
            const double dnorm = dout_n[c] * gain(norm, c), x = (inp_n[c] - mean) * rstd;

            dinp[n * C + c] += rstd * (dnorm - dnorm_sum / (double)C - x * dnorm_norm_sum / (double)C);
        }
    }
}

void tg_layernorm_backward(tg_matrix dinp, tg_matrix dout, tg_matrix inp, tg_norm_stats stats,
                           const tg_layernorm *norm, size_t N)
{
    struct norm_rows rows = {.out = dinp, .norm = norm, .N = N};

    if (inp.type == TG_TYPE_DOUBLE) {
        backward64(tg_doubles(dinp), tg_doubles(dout), tg_doubles(inp), stats, norm, N);
        return;
    }
    rows.dout = tg_floats(dout);
    rows.inp = tg_floats(inp);
    rows.mean = tg_floats(stats.mean);
    rows.rstd = tg_floats(stats.rstd);
    tg_threads_run(N, tg_threads_grain(norm->C, 1), backward_rows, &rows);
    if (norm->dw || norm->db)
        tg_threads_run(norm->C, tg_threads_grain(N, TG_COLUMNS), weight_columns, &rows);
}
