#include "lib/attn/gradient.h"

#include <string.h>

#include "lib/attn/linear64.h"
#include "lib/base/convert.h"
#include "lib/nn/ref/ref.h"

static double *take(tg_arena *arena, size_t rows, size_t width)
{
    return tg_arena_take_rows(arena, rows, width, sizeof(double));
}

static void place_block(tg_arena *arena, tg_attn_block64 *s, size_t T, size_t C)
{
    const tg_attn_block64 placed = {
        .x = take(arena, T, C),
        .mean1 = take(arena, T, 1),
        .rstd1 = take(arena, T, 1),
        .qkv = take(arena, T, 3 * C),
        .att = take(arena, T, C),
        .x2 = take(arena, T, C),
        .mean2 = take(arena, T, 1),
        .rstd2 = take(arena, T, 1),
        .fc = take(arena, T, 4 * C),
    };

    if (s)
        *s = placed;
}

void tg_attn_gradient_place(tg_arena *arena, tg_attn_gradient *g, const tg_model *model, size_t layer,
                            size_t T)
{
    const tg_config *c = &model->config;
    const size_t C = c->n_embd, V = c->vocab_size, blocks = c->n_layer - layer;

    *g = (tg_attn_gradient){.model = model, .layer = layer, .T = T};
    g->block = tg_arena_take(arena, blocks, sizeof *g->block);
    for (size_t n = 0; n < blocks; n++)
        place_block(arena, g->block ? &g->block[n] : NULL, T, C);
    g->x = take(arena, T, C);
    g->mean = take(arena, 1, 1);
    g->rstd = take(arena, 1, 1);
    g->logits = take(arena, V, 1);
    g->normed = take(arena, T, C);
    g->wide = take(arena, T, 4 * C);
    g->dwide = take(arena, T, 4 * C);
    g->rows = take(arena, T, 4 * c->n_head);
    g->norm_w = take(arena, C, 1);
    g->norm_b = take(arena, C, 1);
    g->dlogits = take(arena, V, 1);
    g->dout = take(arena, T, C);
    g->datt = take(arena, T, C);
}

/* ---- weights by place */

static const float *weight(const tg_attn_gradient *g, tg_param_kind kind, size_t l)
{
    return tg_model_weight(g->model, kind, l);
}

static const float *head_weight(const tg_attn_gradient *g)
{
    return weight(g, g->model->config.tied ? TG_WTE : TG_HEAD_W, 0);
}

/* A vector of C weights as doubles in `out`; NULL when the config leaves it out. */
static const double *vector(const tg_attn_gradient *g, double *out, tg_param_kind kind, size_t l)
{
    const float *w = weight(g, kind, l);

    if (!w)
        return NULL;
    tg_double_from_float(out, w, g->model->config.n_embd);
    return out;
}

/* ---- forward */

static void norm(tg_attn_gradient *g, double *mean, double *rstd, const double *x, tg_param_kind w,
                 tg_param_kind b, size_t l, size_t rows)
{
    const tg_config *c = &g->model->config;

    tg_layernorm_forward_ref64(g->normed, mean, rstd, x, vector(g, g->norm_w, w, l),
                               vector(g, g->norm_b, b, l), rows, c->n_embd, c->layer_norm_epsilon);
}

/* out = residual + inp w + b */
static void add_sublayer(const tg_attn_gradient *g, double *out, const double *residual, const double *inp,
                         size_t width, tg_param_kind w, tg_param_kind b, size_t l)
{
    const size_t T = g->T, C = g->model->config.n_embd;

    tg_linear64_forward(out, inp, weight(g, w, l), weight(g, b, l), T, width, C);
    for (size_t i = 0; i < T * C; i++)
        out[i] += residual[i];
}

/* Each head is one thread's work. */
static void attend(tg_attn_gradient *g, const tg_attn_block64 *s)
{
    const size_t T = g->T, C = g->model->config.n_embd, H = g->model->config.n_head, D = C / H;

    #pragma omp parallel for schedule(dynamic)
    for (size_t h = 0; h < H; h++) {
        double *scores = g->rows + h * 4 * T, *probs = scores + T;
        const double *q = s->qkv + h * D, *k = q + C, *v = k + C;

        for (size_t i = 0; i < T; i++) {
            tg_attention_scores_row_ref64(scores, q + i * 3 * C, k, 3 * C, T, D, i);
            tg_softmax_row_ref64(probs, scores, i + 1);
            tg_attention_values_row_ref64(s->att + i * C + h * D, probs, NULL, v, 3 * C, D, i);
        }
    }
}

/* att from x, for the layers behind the first. */
static void attention_forward(tg_attn_gradient *g, const tg_attn_block64 *s, size_t l)
{
    const size_t C = g->model->config.n_embd;

    norm(g, s->mean1, s->rstd1, s->x, TG_LN1_W, TG_LN1_B, l, g->T);
    tg_linear64_forward(s->qkv, g->normed, weight(g, TG_QKV_W, l), weight(g, TG_QKV_B, l), g->T, C, 3 * C);
    attend(g, s);
}

/* The block's output from x and att. */
static void block_forward(tg_attn_gradient *g, const tg_attn_block64 *s, size_t l, double *out)
{
    const size_t T = g->T, C = g->model->config.n_embd;

    add_sublayer(g, s->x2, s->x, s->att, C, TG_ATT_PROJ_W, TG_ATT_PROJ_B, l);
    norm(g, s->mean2, s->rstd2, s->x2, TG_LN2_W, TG_LN2_B, l, T);
    tg_linear64_forward(s->fc, g->normed, weight(g, TG_FC_W, l), weight(g, TG_FC_B, l), T, C, 4 * C);
    tg_gelu_forward_ref64(g->wide, s->fc, T * 4 * C, g->model->config.activation);
    add_sublayer(g, out, s->x2, g->wide, 4 * C, TG_FC_PROJ_W, TG_FC_PROJ_B, l);
}

/* Logits of the last token, which alone predicts. */
static void head_forward(tg_attn_gradient *g)
{
    const size_t C = g->model->config.n_embd, V = g->model->config.vocab_size;
    const float *bias = weight(g, TG_HEAD_B, 0);

    norm(g, g->mean, g->rstd, g->x + (g->T - 1) * C, TG_LNF_W, TG_LNF_B, 0, 1);
    tg_linear64_transposed(g->logits, g->normed, head_weight(g), 1, V, C); /* normed wte^T */
    for (size_t v = 0; bias && v < V; v++)
        g->logits[v] += (double)bias[v];
}

void tg_attn_gradient_begin(tg_attn_gradient *g, const float *x, const float *qkv)
{
    const tg_attn_block64 *s = &g->block[0];
    const size_t n = g->T * g->model->config.n_embd;

    tg_double_from_float(s->x, x, n);
    tg_double_from_float(s->qkv, qkv, 3 * n);
    attend(g, s);
}

double tg_attn_gradient_loss(tg_attn_gradient *g, int32_t target)
{
    const tg_config *c = &g->model->config;
    const size_t blocks = c->n_layer - g->layer;

    g->target = target;
    for (size_t n = 0; n < blocks; n++) {
        if (n > 0)
            attention_forward(g, &g->block[n], g->layer + n);
        block_forward(g, &g->block[n], g->layer + n, n + 1 < blocks ? g->block[n + 1].x : g->x);
    }
    head_forward(g);
    tg_crossentropy_forward_ref64(&g->loss, g->logits, &g->target, 1, c->vocab_size);
    return g->loss;
}

/* ---- backward: g->dout is the gradient of the residual stream, from its end to x2 */

static void norm_backward(tg_attn_gradient *g, double *dx, const double *dnormed, const double *mean,
                          const double *rstd, const double *x, tg_param_kind w, size_t l, size_t rows)
{
    tg_layernorm_backward_ref64(dx, NULL, NULL, dnormed, mean, rstd, x, vector(g, g->norm_w, w, l), rows,
                                g->model->config.n_embd);
}

static void head_backward(tg_attn_gradient *g)
{
    const double one = 1;
    const size_t T = g->T, C = g->model->config.n_embd, V = g->model->config.vocab_size;

    memset(g->dlogits, 0, V * sizeof *g->dlogits);
    tg_crossentropy_backward_ref64(g->dlogits, &one, g->logits, &g->target, 1, V);
    tg_linear64_forward(g->normed, g->dlogits, head_weight(g), NULL, 1, V, C); /* dlogits wte */
    memset(g->dout, 0, T * C * sizeof *g->dout);
    norm_backward(g, g->dout + (T - 1) * C, g->normed, g->mean, g->rstd, g->x + (T - 1) * C, TG_LNF_W, 0, 1);
}

/* From the gradient of the block's output to that of x2. */
static void mlp_backward(tg_attn_gradient *g, const tg_attn_block64 *s, size_t l)
{
    const size_t T = g->T, C = g->model->config.n_embd;

    tg_linear64_transposed(g->dwide, g->dout, weight(g, TG_FC_PROJ_W, l), T, 4 * C, C);
    memset(g->wide, 0, T * 4 * C * sizeof *g->wide);
    tg_gelu_backward_ref64(g->wide, g->dwide, s->fc, T * 4 * C, g->model->config.activation);
    tg_linear64_transposed(g->normed, g->wide, weight(g, TG_FC_W, l), T, C, 4 * C);
    norm_backward(g, g->dout, g->normed, s->mean2, s->rstd2, s->x2, TG_LN2_W, l, T);
}

/* dqkv from datt; each head is one thread's work and has its own columns. */
static void attend_backward(tg_attn_gradient *g, const tg_attn_block64 *s, double *dqkv)
{
    const size_t T = g->T, C = g->model->config.n_embd, H = g->model->config.n_head, D = C / H;

    memset(dqkv, 0, T * 3 * C * sizeof *dqkv);
    #pragma omp parallel for schedule(dynamic)
    for (size_t h = 0; h < H; h++) {
        double *scores = g->rows + h * 4 * T, *probs = scores + T, *dprobs = probs + T, *dscores = dprobs + T;
        const double *q = s->qkv + h * D, *k = q + C, *v = k + C;
        double *dq = dqkv + h * D, *dk = dq + C, *dv = dk + C;

        for (size_t i = 0; i < T; i++) {
            const size_t at = i * 3 * C;

            tg_attention_scores_row_ref64(scores, q + at, k, 3 * C, T, D, i);
            tg_softmax_row_ref64(probs, scores, i + 1);
            tg_attention_values_row_backward_ref64(dprobs, dv, g->datt + i * C + h * D, probs, NULL, v, 3 * C,
                                                   T, D, i);
            memset(dscores, 0, T * sizeof *dscores);
            tg_softmax_row_backward_ref64(dscores, dprobs, probs, i + 1);
            tg_attention_scores_row_backward_ref64(dq + at, dk, dscores, q + at, k, 3 * C, D, i);
        }
    }
}

/* From datt to the gradient of the block's input. */
static void attention_backward(tg_attn_gradient *g, const tg_attn_block64 *s, size_t l)
{
    const size_t T = g->T, C = g->model->config.n_embd;

    attend_backward(g, s, g->wide);
    tg_linear64_transposed(g->normed, g->wide, weight(g, TG_QKV_W, l), T, C, 3 * C);
    norm_backward(g, g->dout, g->normed, s->mean1, s->rstd1, s->x, TG_LN1_W, l, T);
}

void tg_attn_gradient_run(tg_attn_gradient *g)
{
    const size_t T = g->T, C = g->model->config.n_embd;

    head_backward(g);
    for (size_t n = g->model->config.n_layer - g->layer; n-- > 0;) {
        const size_t l = g->layer + n;

        mlp_backward(g, &g->block[n], l);
        tg_linear64_transposed(g->datt, g->dout, weight(g, TG_ATT_PROJ_W, l), T, C, C);
        if (n > 0)
            attention_backward(g, &g->block[n], l);
    }
}
