#include "lib/attn/trace.h"

#include <math.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/nn/ref/ref.h"

tg_status tg_attn_index_check(const tg_attn_index *at, size_t B, size_t H, size_t T, tg_err *err)
{
    const tg_attn_filter filter = {TG_ATTN_ALL, at->h, at->i, at->j};
    const tg_status status = tg_attn_check_index("sequence", at->b, B, err);

    return status ? status : tg_attn_filter_check(&filter, 1, H, T, err);
}

static double *take(tg_arena *arena, size_t rows, size_t width)
{
    return tg_arena_take_rows(arena, rows, width, sizeof(double));
}

void tg_attn_trace_place(tg_arena *arena, tg_attn_trace *t, const tg_qkv_view *view)
{
    const size_t T = view->T, C = view->C, D = C / view->H;

    t->q = take(arena, T, C);
    t->k = take(arena, T, C);
    t->v = take(arena, T, C);
    t->dv = take(arena, T, C);
    t->scores = take(arena, T, 1);
    t->exps = take(arena, T, 1);
    t->probs = take(arena, T, 1);
    t->dprobs = take(arena, T, 1);
    t->dscores = take(arena, T, 1);
    t->att = take(arena, C, 1);
    t->dq = take(arena, D, 1);
    t->dk = take(arena, D, 1);
}

/* Copy sequence b of x, one of q, k and v, as doubles [T,C]. */
static void gather(double *out, const tg_qkv_view *a, const float *x, size_t b)
{
    for (size_t t = 0; t < a->T; t++)
        tg_double_from_float(out + t * a->C, x + (b * a->T + t) * a->stride, a->C);
}

static void probs_row(double *probs, const double *scores, size_t T, size_t i)
{
    tg_softmax_row_ref64(probs, scores, i + 1);
    for (size_t j = i + 1; j < T; j++)
        probs[j] = 0.0;
}

/* Compute the weighted sums of the query for all heads; overwrites scores and probs. */
static void att_row(tg_attn_trace *t)
{
    const size_t T = t->view.T, C = t->view.C, H = t->view.H, D = C / H, i = t->at.i;

    for (size_t h = 0; h < H; h++) {
        tg_attention_scores_row_ref64(t->scores, t->q + i * C + h * D, t->k + h * D, C, T, D, i);
        probs_row(t->probs, t->scores, T, i);
        tg_attention_values_row_ref64(t->att + h * D, t->probs, NULL, t->v + h * D, C, D, i);
    }
}

/* Recompute the intermediate results of tg_softmax_row_ref64(). */
static void exponentials(tg_attn_trace *t)
{
    const size_t i = t->at.i;

    t->max = t->scores[0];
    for (size_t j = 1; j <= i; j++)
        t->max = t->scores[j] > t->max ? t->scores[j] : t->max;
    memset(t->exps, 0, t->view.T * sizeof *t->exps);
    t->exp_sum = 0;
    for (size_t j = 0; j <= i; j++) {
        t->exps[j] = exp(t->scores[j] - t->max);
        t->exp_sum += t->exps[j];
    }
}

void tg_attn_trace_forward(tg_attn_trace *t, const tg_qkv_view *view, tg_attn_index at)
{
    const size_t T = view->T, C = view->C, D = C / view->H;
    const double *q, *k;

    t->view = *view;
    t->at = at;
    gather(t->q, view, view->q, at.b);
    gather(t->k, view, view->k, at.b);
    gather(t->v, view, view->v, at.b);
    att_row(t);

    q = t->q + at.i * C + at.h * D;
    k = t->k + at.h * D;
    tg_attention_scores_row_ref64(t->scores, q, k, C, T, D, at.i);
    probs_row(t->probs, t->scores, T, at.i);
    exponentials(t);
    t->sum = 0;
    for (size_t d = 0; d < D; d++)
        t->sum += q[d] * k[at.j * C + d];
}

void tg_attn_trace_backward(tg_attn_trace *t, const double *datt)
{
    const size_t T = t->view.T, C = t->view.C, D = C / t->view.H, i = t->at.i, j = t->at.j;
    const double *q = t->q + i * C + t->at.h * D, *k = t->k + t->at.h * D, *v = t->v + t->at.h * D;

    tg_attention_values_row_backward_ref64(t->dprobs, t->dv, datt, t->probs, NULL, v, C, T, D, i);
    t->mean = 0;
    for (size_t m = 0; m <= i; m++)
        t->mean += t->probs[m] * t->dprobs[m];
    memset(t->dscores, 0, T * sizeof *t->dscores);
    tg_softmax_row_backward_ref64(t->dscores, t->dprobs, t->probs, i + 1);
    for (size_t d = 0; d < D; d++) { /* attention_scores_row_backward for score (i,j) alone */
        t->dq[d] = t->dscores[j] * k[j * C + d] / sqrt((double)D);
        t->dk[d] = t->dscores[j] * q[d] / sqrt((double)D);
    }
}
