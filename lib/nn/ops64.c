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

/* ---- attention: one thread per head, which has its own columns of dqkv */

void tg_attention64_place(tg_arena *arena, tg_attention_scratch *scratch, size_t B, size_t T, size_t H)
{
    scratch->rows = tg_arena_take_rows(arena, T, 4 * B * H, sizeof *scratch->rows);
}

/* One head of one sequence: its offsets and scratch. */
struct head {
    size_t at;      /* offset of its q in qkv; k is C after it, v 2C */
    size_t out;     /* offset of its columns in out */
    double *scores; /* [T], then probs and the gradients of both */
};

static struct head head_of(const tg_attention *a, size_t bh)
{
    const size_t b = bh / a->H, h = bh % a->H, D = a->C / a->H;

    return (struct head){
        .at = b * a->T * 3 * a->C + h * D,
        .out = b * a->T * a->C + h * D,
        .scores = a->scratch->rows + bh * 4 * a->T,
    };
}

/* The arrays of an operation. */
struct arrays {
    const tg_attention *a;
    const double *qkv;
    double *out;        /* forward */
    const double *dout; /* backward */
    double *dqkv;
};

static void attention_forward(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;
    const size_t T = a->T, C = a->C, D = C / a->H;

    for (size_t bh = begin; bh < end; bh++) {
        const struct head head = head_of(a, bh);
        double *scores = head.scores, *probs = scores + T;
        const double *q = x->qkv + head.at, *k = q + C, *v = k + C;

        for (size_t i = 0; i < T; i++) {
            tg_attention_scores_row_ref64(scores, q + i * 3 * C, k, 3 * C, T, D, i);
            tg_softmax_row_ref64(probs, scores, i + 1);
            tg_attention_values_row_ref64(x->out + head.out + i * C, probs, NULL, v, 3 * C, D, i);
        }
    }
}

void tg_attention64_forward(double *out, const double *qkv, const tg_attention *a)
{
    assert(!a->cache);
    no_dropout(a->drop);
    tg_threads_run(a->B * a->H, 1, attention_forward, &(struct arrays){.a = a, .qkv = qkv, .out = out});
}

static void attention_backward(void *context, size_t begin, size_t end)
{
    const struct arrays *x = context;
    const tg_attention *a = x->a;
    const size_t T = a->T, C = a->C, D = C / a->H;

    for (size_t bh = begin; bh < end; bh++) {
        const struct head head = head_of(a, bh);
        double *scores = head.scores, *probs = scores + T, *dprobs = probs + T, *dscores = dprobs + T;
        const double *q = x->qkv + head.at, *k = q + C, *v = k + C;
        double *dq = x->dqkv + head.at, *dk = dq + C, *dv = dk + C;

        for (size_t i = 0; i < T; i++) {
            const size_t at = i * 3 * C;

            tg_attention_scores_row_ref64(scores, q + at, k, 3 * C, T, D, i);
            tg_softmax_row_ref64(probs, scores, i + 1);
            tg_attention_values_row_backward_ref64(dprobs, dv, x->dout + head.out + i * C, probs, NULL, v,
                                                   3 * C, T, D, i);
            memset(dscores, 0, T * sizeof *dscores);
            tg_softmax_row_backward_ref64(dscores, dprobs, probs, i + 1);
            tg_attention_scores_row_backward_ref64(dq + at, dk, dscores, q + at, k, 3 * C, D, i);
        }
    }
}

void tg_attention64_backward(double *dqkv, const double *dout, const double *qkv, const tg_attention *a)
{
    assert(!a->cache);
    no_dropout(a->drop);
    memset(dqkv, 0, a->B * a->T * 3 * a->C * sizeof *dqkv);
    tg_threads_run(a->B * a->H, 1, attention_backward,
                   &(struct arrays){.a = a, .qkv = qkv, .dout = dout, .dqkv = dqkv});
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
