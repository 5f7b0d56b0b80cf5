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

static double *take_doubles(tg_arena *arena, size_t rows, size_t width)
{
    return tg_arena_take_rows(arena, rows, width, sizeof(double));
}

void tg_attn_trace_place(tg_arena *arena, tg_attn_trace *t, const tg_qkv_view *view)
{
    const size_t T = view->T, D = view->D, Q = view->H * D, KV = view->KV * D;

    t->q = take_doubles(arena, T, Q);
    t->k = take_doubles(arena, T, KV);
    t->v = take_doubles(arena, T, KV);
    t->dv = take_doubles(arena, T, KV);
    t->scores = take_doubles(arena, T, 1);
    t->exps = take_doubles(arena, T, 1);
    t->probs = take_doubles(arena, T, 1);
    t->dprobs = take_doubles(arena, T, 1);
    t->dscores = take_doubles(arena, T, 1);
    t->att = take_doubles(arena, Q, 1);
    t->dq = take_doubles(arena, D, 1);
    t->dk = take_doubles(arena, D, 1);
}

/* Copy sequence b of x, whose tokens are ld apart, as doubles [T,width]. */
static void gather(double *out, const float *x, size_t ld, size_t width, size_t T, size_t b)
{
    for (size_t t = 0; t < T; t++)
        tg_double_from_float(out + t * width, x + (b * T + t) * ld, width);
}

/* Compute the weighted sums of the query for all heads; overwrites scores and probs. */
static void att_row(tg_attn_trace *t)
{
    const size_t T = t->view.T, H = t->view.H, D = t->view.D, KV = t->view.KV * D, i = t->at.i;

    for (size_t h = 0; h < H; h++) {
        const size_t g = tg_attn_kv_head(&t->view, h) * D;

        tg_attention_scores_row_ref64(t->scores, t->q + (i * H + h) * D, t->k + g, KV, T, D, i);
        tg_attention_rule_row_ref64(t->scores, &t->view.rule, D, i);
        tg_attn_probs_row(t->probs, t->scores, T, t->first, i);
        tg_attention_values_row_ref64(t->att + h * D, t->probs, NULL, t->v + g, KV, D, i);
    }
}

/* Recompute the intermediate results of tg_softmax_row_ref64(), and what it would sum without the maximum. */
static void exponentials(tg_attn_trace *t)
{
    const size_t i = t->at.i;

    t->max = t->scores[t->first];
    for (size_t j = t->first + 1; j <= i; j++)
        t->max = t->scores[j] > t->max ? t->scores[j] : t->max;
    memset(t->exps, 0, t->view.T * sizeof *t->exps);
    t->exp_sum = t->plain_sum = 0;
    for (size_t j = t->first; j <= i; j++) {
        t->exps[j] = exp(t->scores[j] - t->max);
        t->exp_sum += t->exps[j];
        t->plain_sum += exp(t->scores[j]);
    }
}

/* The score of the traced key alone, step by step, whether or not it is masked. */
static void one_score(tg_attn_trace *t, const double *q, const double *k_j)
{
    const tg_attention_rule *rule = &t->view.rule;
    const size_t D = t->view.D;

    t->sum = 0;
    for (size_t d = 0; d < D; d++)
        t->sum += q[d] * k_j[d];
    tg_attention_scores_row_ref64(&t->scaled, q, k_j, D, 1, D, 0);
    t->unmasked = t->scaled;
    tg_attention_rule_row_ref64(&t->scaled, &(tg_attention_rule){.scale = rule->scale}, D, 0);
    tg_attention_rule_row_ref64(&t->unmasked, &(tg_attention_rule){rule->scale, rule->cap, 0}, D, 0);
}

void tg_attn_trace_forward(tg_attn_trace *t, const tg_qkv_view *view, tg_attn_index at)
{
    const size_t T = view->T, H = view->H, D = view->D, KV = view->KV * D;
    const double *q, *k;

    t->view = *view;
    t->at = at;
    t->first = tg_attention_first(&view->rule, at.i);
    gather(t->q, view->q, view->ldq, H * D, T, at.b);
    gather(t->k, view->k, view->ldk, KV, T, at.b);
    gather(t->v, view->v, view->ldv, KV, T, at.b);
    att_row(t);

    q = t->q + (at.i * H + at.h) * D;
    k = t->k + tg_attn_kv_head(view, at.h) * D;
    tg_attention_scores_row_ref64(t->scores, q, k, KV, T, D, at.i);
    tg_attention_rule_row_ref64(t->scores, &view->rule, D, at.i);
    tg_attn_probs_row(t->probs, t->scores, T, t->first, at.i);
    exponentials(t);
    one_score(t, q, k + at.j * KV);
}

/* The gradient of one score before the rule, which has no window, from that after it. */
static double before_rule(double dscore, double score, tg_attention_rule rule, size_t D)
{
    tg_attention_rule_row_backward_ref64(&dscore, &score, &rule, D, 0);
    return dscore;
}

void tg_attn_trace_backward(tg_attn_trace *t, const double *datt)
{
    const size_t T = t->view.T, D = t->view.D, KV = t->view.KV * D, i = t->at.i, j = t->at.j;
    const size_t g = tg_attn_kv_head(&t->view, t->at.h) * D;
    const double *q = t->q + (i * t->view.H + t->at.h) * D, *k = t->k + g, *v = t->v + g;
    const tg_attention_rule *rule = &t->view.rule;
    const size_t first = t->first;
    double dsum;

    tg_attention_values_row_backward_ref64(t->dprobs, t->dv, datt, t->probs, NULL, v, KV, T, D, i);
    memset(t->dprobs, 0, first * sizeof *t->dprobs);
    t->mean = 0;
    for (size_t m = first; m <= i; m++)
        t->mean += t->probs[m] * t->dprobs[m];
    memset(t->dscores, 0, T * sizeof *t->dscores);
    tg_softmax_row_backward_ref64(t->dscores + first, t->dprobs + first, t->probs + first, i + 1 - first);
    t->dscaled = before_rule(t->dscores[j], t->unmasked, (tg_attention_rule){.cap = rule->cap}, D);
    dsum = before_rule(t->dscaled, t->scaled, (tg_attention_rule){.scale = rule->scale}, D);
    for (size_t d = 0; d < D; d++) { /* attention_scores_row_backward for score (i,j) alone */
        t->dq[d] = dsum * k[j * KV + d] / sqrt((double)D);
        t->dk[d] = dsum * q[d] / sqrt((double)D);
    }
}
