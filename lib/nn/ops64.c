#include "lib/nn/ops64.h"

#include <assert.h>
#include <string.h>

#include "lib/base/threads.h"
#include "lib/nn/ref/ref.h"

static void no_dropout(const tg_dropout *drop)
{
    assert(!drop || drop->p == 0);
    (void)drop;
}

void tg_zero64(double *x, size_t n)
{
    memset(x, 0, n * sizeof *x);
}

/* ---- layernorm */

static double gain(const tg_layernorm *norm, size_t c)
{
    return norm->w ? (double)norm->w[c] : 1;
}

void tg_layernorm64_forward(double *out, tg_row_stats64 stats, const double *inp, const tg_layernorm *norm,
                            size_t N)
{
    const size_t C = norm->C;

    for (size_t n = 0; n < N; n++) {
        double *out_n = out + n * C;

        tg_layernorm_forward_ref64(out_n, &stats.mean[n], &stats.rstd[n], inp + n * C, NULL, NULL, 1, C,
                                   norm->epsilon);
        for (size_t c = 0; c < C; c++)
            out_n[c] = out_n[c] * gain(norm, c) + (norm->b ? (double)norm->b[c] : 0);
    }
}

void tg_layernorm64_recompute(double *out, tg_row_stats64 stats, const double *inp, const tg_layernorm *norm,
                              size_t N)
{
    tg_layernorm64_forward(out, stats, inp, norm, N);
}

/* out = norm * w + b, norm = (inp - mean) * rstd, where mean and rstd also depend on inp */
void tg_layernorm64_backward(double *dinp, const double *dout, const double *inp, tg_row_stats64 stats,
                             const tg_layernorm *norm, size_t N)
{
    const size_t C = norm->C;

    assert(!norm->dw && !norm->db);
    for (size_t n = 0; n < N; n++) {
        const double *dout_n = dout + n * C, *inp_n = inp + n * C;
        const double mean = stats.mean[n], rstd = stats.rstd[n];
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

/* ---- gelu */

void tg_gelu64_forward(double *out, const double *inp, size_t n, tg_gelu_kind kind)
{
    tg_gelu_forward_ref64(out, inp, n, kind);
}

/* ---- attention: one thread for the heads that read the same keys, which add to the same dk and dv */

void tg_attention64_place(tg_arena *arena, tg_attention_scratch *scratch, size_t B, size_t T, size_t H)
{
    scratch->rows = tg_arena_take_rows(arena, T, 4 * B * H, sizeof *scratch->rows);
}

/* The arrays of an operation. */
struct arrays {
    const tg_attention *a;
    const double *q, *k, *v;
    double *out;                      /* forward */
    const tg_attention64_gradient *g; /* backward */
};

/* One head of one sequence: its first rows, and scratch. */
struct head {
    const double *q, *k, *v;
    size_t at_q, at_k, at_v; /* their offsets */
    size_t out;              /* in out and dout, whose rows are ldo apart */
    size_t ldo;
    double *scores; /* [T], then probs and the gradients of both */
};

static struct head head_of(const struct arrays *x, size_t bh)
{
    const tg_attention *a = x->a;
    const size_t b = bh / a->H, h = bh % a->H, g = h / (a->H / a->KV), D = a->D;
    struct head head = {
        .at_q = b * a->T * a->ldq + h * D,
        .at_k = b * a->T * a->ldk + g * D,
        .at_v = b * a->T * a->ldv + g * D,
        .out = (b * a->T * a->H + h) * D,
        .ldo = a->H * D,
        .scores = a->scratch->rows + bh * 4 * a->T,
    };

    head.q = x->q + head.at_q;
    head.k = x->k + head.at_k;
    head.v = x->v + head.at_v;
    return head;
}

static void forward_head(const struct arrays *x, const struct head *h)
{
    const tg_attention *a = x->a;
    const size_t T = a->T, D = a->D;
    double *scores = h->scores, *probs = scores + T;

    for (size_t i = 0; i < T; i++) {
        tg_attention_scores_row_ref64(scores, h->q + i * a->ldq, h->k, a->ldk, T, D, i);
        tg_softmax_row_ref64(probs, scores, i + 1);
        tg_attention_values_row_ref64(x->out + h->out + i * h->ldo, probs, NULL, h->v, a->ldv, D, i);
    }
}

static void backward_head(const struct arrays *x, const struct head *h)
{
    const tg_attention *a = x->a;
    const size_t T = a->T, D = a->D;
    double *scores = h->scores, *probs = scores + T, *dprobs = probs + T, *dscores = dprobs + T;
    double *dq = x->g->dq + h->at_q, *dk = x->g->dk + h->at_k, *dv = x->g->dv + h->at_v;

    for (size_t i = 0; i < T; i++) {
        tg_attention_scores_row_ref64(scores, h->q + i * a->ldq, h->k, a->ldk, T, D, i);
        tg_softmax_row_ref64(probs, scores, i + 1);
        tg_attention_values_row_backward_ref64(dprobs, dv, x->g->dout + h->out + i * h->ldo, probs, NULL,
                                               h->v, a->ldv, T, D, i);
        memset(dscores, 0, T * sizeof *dscores);
        tg_softmax_row_backward_ref64(dscores, dprobs, probs, i + 1);
        tg_attention_scores_row_backward_ref64(dq + i * a->ldq, dk, dscores, h->q + i * a->ldq, h->k, a->ldk,
                                               D, i);
    }
}

static void some_groups(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const size_t group = x->a->H / x->a->KV;

    for (size_t bh = begin * group; bh < end * group; bh++) {
        const struct head head = head_of(x, bh);

        (x->g ? backward_head : forward_head)(x, &head);
    }
}

static void each_group(struct arrays *x)
{
    assert(!x->a->cache);
    no_dropout(x->a->drop);
    tg_threads_run(x->a->B * x->a->KV, 1, some_groups, x);
}

void tg_attention64_forward(double *out, const double *q, const double *k, const double *v,
                            const tg_attention *a)
{
    each_group(&(struct arrays){.a = a, .q = q, .k = k, .v = v, .out = out});
}

static void zero_rows(double *x, size_t ld, size_t rows, size_t width)
{
    for (size_t r = 0; r < rows; r++)
        tg_zero64(x + r * ld, width);
}

void tg_attention64_backward(const tg_attention64_gradient *g, const double *q, const double *k,
                             const double *v, const tg_attention *a)
{
    const size_t N = a->B * a->T;

    zero_rows(g->dq, a->ldq, N, a->H * a->D);
    zero_rows(g->dk, a->ldk, N, a->KV * a->D);
    zero_rows(g->dv, a->ldv, N, a->KV * a->D);
    each_group(&(struct arrays){.a = a, .q = q, .k = k, .v = v, .g = g});
}

/* ---- residual */

void tg_residual64_forward(double *out, const double *residual, const double *inp, const tg_linear *linear,
                           const tg_dropout *drop, size_t N)
{
    no_dropout(drop);
    tg_linear64_forward(out, residual, inp, linear, N);
}

void tg_residual64_backward(double *dinp, const double *dout, const double *inp, const tg_linear *linear,
                            const tg_dropout *drop, size_t N)
{
    no_dropout(drop);
    tg_linear64_backward(dinp, dout, inp, linear, N);
}

void tg_residual64_after_gelu_backward(double *dpre, const double *dout, const double *inp, const double *pre,
                                       const tg_linear *linear, tg_gelu_kind kind, const tg_dropout *drop,
                                       size_t N)
{
    const double one = 1;

    tg_residual64_backward(dpre, dout, inp, linear, drop, N);
    for (size_t i = 0; i < N * linear->in; i++) {
        double slope = 0;

        tg_gelu_backward_ref64(&slope, &one, &pre[i], 1, kind);
        dpre[i] *= slope;
    }
}
