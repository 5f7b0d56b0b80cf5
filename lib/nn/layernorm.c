#include "lib/nn/layernorm.h"

#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"

/* The arrays of an operation; what it does not use is NULL. */
struct norm_rows {
    float *out; /* dinp, backward */
    const float *dout, *inp;
    tg_row_stats stats;
    const tg_layernorm *norm;
    size_t N;
};

static void forward_rows(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct norm_rows *r = context;
    const tg_layernorm *norm = r->norm;
    const size_t C = norm->C;

    for (size_t n = begin; n < end; n++) {
        kernels->layernorm_stats(&r->stats.mean[n], &r->stats.rstd[n], r->inp + n * C, C,
                                 (float)norm->epsilon);
        kernels->layernorm_apply(r->out + n * C, r->stats.mean[n], r->stats.rstd[n], r->inp + n * C, norm->w,
                                 norm->b, C);
    }
}

void tg_layernorm_forward(float *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                          size_t N)
{
    struct norm_rows rows = {out, NULL, inp, stats, norm, N};

    tg_threads_run(N, tg_threads_grain(norm->C, 1), forward_rows, &rows);
}

static void recompute_rows(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct norm_rows *r = context;
    const tg_layernorm *norm = r->norm;
    const size_t C = norm->C;

    for (size_t n = begin; n < end; n++)
        kernels->layernorm_apply(r->out + n * C, r->stats.mean[n], r->stats.rstd[n], r->inp + n * C, norm->w,
                                 norm->b, C);
}

void tg_layernorm_recompute(float *out, tg_row_stats stats, const float *inp, const tg_layernorm *norm,
                            size_t N)
{
    struct norm_rows rows = {out, NULL, inp, stats, norm, N};

    tg_threads_run(N, tg_threads_grain(norm->C, 1), recompute_rows, &rows);
}

static void backward_rows(void *context, size_t begin, size_t end)
{
    const tg_kernels *kernels = tg_kernels_get();
    const struct norm_rows *r = context;
    const size_t C = r->norm->C;

    for (size_t n = begin; n < end; n++)
        kernels->layernorm_row_backward(r->out + n * C, r->dout + n * C, r->inp + n * C, r->stats.mean[n],
                                        r->stats.rstd[n], r->norm->w, C);
}

/* dw[c] += sum_n dout[n,c] * (inp[n,c] - mean[n]) * rstd[n] and db[c] += sum_n dout[n,c], for the
 * columns begin .. end-1 */
static void weight_columns(void *context, size_t begin, size_t end)
{
    const struct norm_rows *r = context;
    const tg_layernorm *norm = r->norm;
    const tg_row_range rows = {r->stats.mean, r->stats.rstd, norm->C, r->N};

    tg_kernels_get()->layernorm_columns_backward(norm->dw ? norm->dw + begin : NULL,
                                                 norm->db ? norm->db + begin : NULL, r->dout + begin,
                                                 r->inp + begin, &rows, end - begin);
}

void tg_layernorm_backward(float *dinp, const float *dout, const float *inp, tg_row_stats stats,
                           const tg_layernorm *norm, size_t N)
{
    struct norm_rows rows = {dinp, dout, inp, stats, norm, N};

    tg_threads_run(N, tg_threads_grain(norm->C, 1), backward_rows, &rows);
    if (norm->dw || norm->db)
        tg_threads_run(norm->C, tg_threads_grain(N, TG_COLUMNS), weight_columns, &rows);
}
