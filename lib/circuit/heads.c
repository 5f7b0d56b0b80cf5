#include "lib/circuit/heads.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/circuit/eigen.h"
#include "lib/circuit/product64.h"

#define QUERIES ((size_t)64) /* whose scores are computed together */

/* ---- products */

void tg_gram_columns(double *out, const double *a, const double *b, size_t n, size_t D)
{
    memset(out, 0, D * D * sizeof *out);
    tg_product64_run(
        &(tg_product64){D, D, n, a, b, TG_TYPE_DOUBLE, TG_TYPE_DOUBLE, 1, D, D, 1, out, D, false});
}

void tg_gram_rows(double *out, const double *a, const double *b, size_t n, size_t D)
{
    memset(out, 0, D * D * sizeof *out);
    tg_product64_run(
        &(tg_product64){D, D, n, a, b, TG_TYPE_DOUBLE, TG_TYPE_DOUBLE, n, 1, 1, n, out, D, false});
}

/* out [M,N] = a [M,K] b [K,N] */
static void multiply(double *out, const double *a, const double *b, size_t M, size_t K, size_t N)
{
    memset(out, 0, M * N * sizeof *out);
    tg_product64_run(
        &(tg_product64){M, N, K, a, b, TG_TYPE_DOUBLE, TG_TYPE_DOUBLE, K, 1, N, 1, out, N, false});
}

double tg_gram_norm(const double *x, const double *y, size_t D)
{
    double sum = 0;

    for (size_t i = 0; i < D * D; i++)
        sum += x[i] * y[i]; /* both are symmetric */
    return sqrt(fmax(sum, 0));
}

/* ---- eigenvalues */

/* sum Re l / sum |l|, and the share of those with Re l > 0, of a [D,D], which is overwritten. */
static void weigh_eigenvalues(double *signed_share, double *positive, double *a, double *re, double *im,
                              size_t D)
{
    double sum = 0, sizes = 0, above = 0;
    const bool known = tg_eigenvalues(re, im, a, D);

    for (size_t i = 0; known && i < D; i++) {
        const double size = hypot(re[i], im[i]);

        sum += re[i];
        sizes += size;
        above += re[i] > 0 ? size : 0;
    }
    *signed_share = sizes > 0 ? sum / sizes : nan("");
    *positive = sizes > 0 ? above / sizes : nan("");
}

/* ---- positions */

/* out [T,D] = P wpe / rms, times w [C,D], of which P is a part */
static void read_positions(double *out, const tg_model *model, const double *w, const tg_heads_scratch *s,
                           size_t D)
{
    const size_t T = s->T, C = model->config.n_embd;

    memset(out, 0, T * D * sizeof *out);
    tg_product64_run(&(tg_product64){T, D, C, tg_model_weight(model, TG_WPE, 0), w, TG_TYPE_FLOAT,
                                     TG_TYPE_DOUBLE, C, 1, D, 1, out, D, false});
    for (size_t t = 0; t < T; t++)
        for (size_t d = 0; d < D; d++)
            out[t * D + d] *= s->rstd[t];
}

/* 1 / rms of each position's vector as the norm before attention has it. */
static void set_rstd(double *rstd, const tg_model *model, size_t T)
{
    const tg_config *c = &model->config;
    const size_t C = c->n_embd;
    const float *wpe = tg_model_weight(model, TG_WPE, 0);

    for (size_t t = 0; t < T; t++) {
        const float *x = wpe + t * C;
        double mean = 0, square = 0;

        for (size_t i = 0; tg_factors_centred(c) && i < C; i++)
            mean += (double)x[i] / (double)C;
        for (size_t i = 0; i < C; i++)
            square += ((double)x[i] - mean) * ((double)x[i] - mean);
        rstd[t] = 1 / sqrt(square / (double)C + (double)(float)c->layer_norm_epsilon);
    }
}

/* p = softmax over the scores [n] of query n - 1: adds p[n - 2] and p[n - 1]. */
static void attend(double *previous, double *diagonal, double *scores, size_t n, double scale)
{
    double max = -HUGE_VAL, sum = 0;

    for (size_t j = 0; j < n; j++) {
        scores[j] *= scale;
        max = fmax(max, scores[j]);
    }
    for (size_t j = 0; j < n; j++)
        sum += exp(scores[j] - max);
    *previous += exp(scores[n - 2] - max) / sum;
    *diagonal += exp(scores[n - 1] - max) / sum;
}

/* Add those of the queries begin .. end - 1. */
static void attend_rows(tg_head_numbers *out, const double *q, const double *k, double *scores, size_t begin,
                        size_t end, size_t D, double scale)
{
    memset(scores, 0, (end - begin) * end * sizeof *scores);
    tg_product64_run(&(tg_product64){end - begin, end, D, q + begin * D, k, TG_TYPE_DOUBLE, TG_TYPE_DOUBLE, D,
                                     1, 1, D, scores, end, false});
    for (size_t i = tg_size_max(begin, 1); i < end; i++)
        attend(&out->previous, &out->diagonal, scores + (i - begin) * end, i + 1, scale);
}

static void read_attention(tg_head_numbers *out, const tg_factors *f, const tg_model *model,
                           const tg_heads_scratch *s, size_t h)
{
    const size_t T = s->T, D = f->D;
    const double scale = model->config.attn_scale > 0 ? model->config.attn_scale : 1 / sqrt((double)D);
    double *q = s->q + h * T * D, *k = s->k + h * T * D;

    out->previous = out->diagonal = T < 2 ? nan("") : 0;
    if (T < 2)
        return;
    read_positions(q, model, tg_factors_q(f, h), s, D);
    read_positions(k, model, tg_factors_k(f, h), s, D);
    for (size_t i = 0; i < T; i += QUERIES)
        attend_rows(out, q, k, s->scores + h * QUERIES * T, i, tg_size_min(i + QUERIES, T), D, scale);
    out->previous /= (double)(T - 1);
    out->diagonal /= (double)(T - 1);
}

/* ---- heads */

void tg_heads_scratch_place(tg_arena *arena, tg_heads_scratch *s, const tg_model *model)
{
    const tg_config *c = &model->config;
    const size_t H = c->n_head, C = c->n_embd, D = tg_config_head_dim(c);

    s->T = tg_params_index(&model->table, TG_WPE, 0) < model->table.n ? c->n_ctx : 0;
    s->matrix = tg_arena_take_rows(arena, H * 5, D * D, sizeof *s->matrix);
    s->through = tg_arena_take_rows(arena, H * C, D, sizeof *s->through);
    s->re = tg_arena_take_rows(arena, H, D, sizeof *s->re);
    s->im = tg_arena_take_rows(arena, H, D, sizeof *s->im);
    s->rstd = tg_arena_take(arena, s->T, sizeof *s->rstd);
    s->q = tg_arena_take_rows(arena, H * s->T, D, sizeof *s->q);
    s->k = tg_arena_take_rows(arena, H * s->T, D, sizeof *s->k);
    s->scores = tg_arena_take_rows(arena, H * QUERIES, s->T, sizeof *s->scores);
}

struct layer {
    tg_head_numbers *out;
    const tg_factors *f;
    const tg_vocab_grams *vocab;
    const tg_model *model;
    const tg_heads_scratch *s;
};

/* out [D,D] = left^T middle right, for left [C,D] or, as rows, [D,C] */
static void enclose(double *out, const double *left, bool rows, const double *middle, const double *right,
                    double *through, const tg_factors *f)
{
    const size_t C = f->C, D = f->D;

    multiply(through, middle, right, C, C, D);
    if (rows)
        multiply(out, left, through, D, C, D);
    else
        tg_gram_columns(out, left, through, C, D);
}

static void set_numbers(tg_head_numbers *out, const struct layer *l, size_t h)
{
    const tg_factors *f = l->f;
    const size_t C = f->C, D = f->D;
    const double *q = tg_factors_q(f, h), *k = tg_factors_k(f, h), *v = tg_factors_v(f, h),
                 *o = tg_factors_o(f, h);
    double *square = l->s->matrix + h * 5 * D * D, *gram[4], *through = l->s->through + h * C * D;
    double *re = l->s->re + h * D, *im = l->s->im + h * D, unused;

    for (size_t i = 0; i < 4; i++)
        gram[i] = square + (i + 1) * D * D;
    tg_gram_columns(gram[0], v, v, C, D);
    tg_gram_rows(gram[1], o, o, C, D);
    tg_gram_columns(gram[2], q, q, C, D);
    tg_gram_columns(gram[3], k, k, C, D);
    out->ov_norm = tg_gram_norm(gram[0], gram[1], D);
    out->qk_norm = tg_gram_norm(gram[2], gram[3], D);

    enclose(square, o, true, l->vocab->ue, v, through, f);
    weigh_eigenvalues(&out->copying, &out->positive, square, re, im, D);
    enclose(square, k, false, l->vocab->ee, q, through, f);
    weigh_eigenvalues(&out->duplicate, &unused, square, re, im, D);
    read_attention(out, f, l->model, l->s, h);
}

static void set_heads(void *context, size_t begin, size_t end)
{
    const struct layer *l = context;

    for (size_t h = begin; h < end; h++)
        set_numbers(&l->out[h], l, h);
}

void tg_heads_of_layer(tg_head_numbers *out, const tg_factors *f, const tg_vocab_grams *vocab,
                       const tg_model *model, tg_heads_scratch *s)
{
    struct layer l = {out, f, vocab, model, s};

    if (s->T > 0)
        set_rstd(s->rstd, model, s->T);
    tg_threads_run(f->H, 1, set_heads, &l);
}
