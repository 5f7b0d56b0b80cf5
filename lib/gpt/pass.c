#include "lib/gpt/pass.h"

#include <string.h>

#include "lib/base/size.h"
#include "lib/nn/crossentropy.h"
#include "lib/nn/embedding.h"
#include "lib/nn/gelu.h"
#include "lib/nn/layernorm.h"
#include "lib/nn/linear.h"

static float *take(tg_arena *arena, size_t rows, size_t width)
{
    return tg_arena_take_rows(arena, rows, width, sizeof(float));
}

/* Bytes of all blocks' x2, beyond which they share one: backward makes each again, at the
 * cost of one small product a block. */
#ifndef X2_MAX
#define X2_MAX ((size_t)128 << 20)
#endif

static void place_block(tg_arena *arena, tg_block_state *s, const tg_pass *p, size_t N, size_t C, size_t H)
{
    tg_block_state placed = {
        .x = take(arena, N, C),
        .mean1 = take(arena, N, 1),
        .rstd1 = take(arena, N, 1),
        .qkv = take(arena, N, 3 * C),
        .att = take(arena, N, C),
        .lse = take(arena, N, H),
        .x2 = p->shares_x2 ? p->x2 : take(arena, N, C),
        .mean2 = take(arena, N, 1),
        .rstd2 = take(arena, N, 1),
        .fc = take(arena, N, 4 * C),
    };

    if (s)
        *s = placed;
}

void tg_pass_place(tg_arena *arena, tg_pass *pass, const tg_model *model, size_t B, size_t T, bool gradients)
{
    const tg_config *c = &model->config;
    const size_t N = B * T, C = c->n_embd;
    const size_t states = gradients ? c->n_layer : 1;

    *pass = (tg_pass){.model = model, .B = B, .T = T};
    pass->block = tg_arena_take(arena, c->n_layer, sizeof *pass->block);
    pass->shares_x2 = N > X2_MAX / sizeof(float) / C / states;
    pass->x2 = take(arena, pass->shares_x2 ? N : 0, C);
    for (size_t l = 0; l < states; l++)
        place_block(arena, pass->block ? &pass->block[l] : NULL, pass, N, C, c->n_head);
    for (size_t l = states; pass->block && l < c->n_layer; l++)
        pass->block[l] = pass->block[0];
    if (gradients)
        pass->x = take(arena, N, C);
    else if (pass->block) /* a block may then write its output over its input */
        pass->x = pass->block[0].x;
    pass->mean = take(arena, N, 1);
    pass->rstd = take(arena, N, 1);
    pass->normed = take(arena, N, C);
    pass->wide = take(arena, tg_size_max(4 * N, tg_ceil_div(tg_head_logits(N, c->vocab_size), C)), C);
    pass->logits = pass->wide; /* the head's are there between forward and backward */
    pass->losses = take(arena, N, 1);
    tg_matmul_place(arena, &pass->matmul);
    tg_attention_place(arena, &pass->attention, T, C / c->n_head);
    if (gradients) {
        pass->dx = take(arena, N, C);
        pass->dnormed = take(arena, N, C);
    }
}

/* ---- parameters and dropout by place */

static const float *weight(const tg_pass *p, tg_param_kind kind, size_t l)
{
    return tg_model_weight(p->model, kind, l);
}

/* The gradient of a tensor, or NULL when the config leaves the tensor out. */
static float *gradient(const tg_pass *p, float *grads, tg_param_kind kind, size_t l)
{
    const tg_params *table = &p->model->table;
    size_t i = tg_params_index(table, kind, l);

    return i == table->n ? NULL : grads + table->entry[i].offset;
}

enum site { SITE_EMBEDDING, SITE_PROBS, SITE_ATTENTION, SITE_MLP };

/* Each place where something is dropped has numbers of its own. */
static tg_dropout dropout_at(const tg_pass *p, enum site site, size_t l)
{
    tg_dropout drop = {.p = p->dropout, .rng = p->rng};

    drop.rng.purpose = TG_RNG_DROPOUT | (uint32_t)(l * 4 + site) << 8;
    return drop;
}

static void drop(const tg_pass *p, enum site site, size_t l, float *x)
{
    tg_dropout d = dropout_at(p, site, l);

    tg_dropout_apply(x, &d, p->B * p->T * p->model->config.n_embd);
}

/* ---- forward */

/* out = residual + drop(inp w + b); out may be residual. */
static void add_sublayer(tg_pass *p, float *out, const float *residual, const float *inp, size_t width,
                         tg_param_kind w, tg_param_kind b, enum site site, size_t l)
{
    const size_t N = p->B * p->T, C = p->model->config.n_embd;

    if (p->dropout > 0) {
        tg_linear_forward(p->normed, inp, weight(p, w, l), weight(p, b, l), NULL, N, width, C, &p->matmul);
        drop(p, site, l, p->normed);
        #pragma omp parallel for schedule(static)
        for (size_t i = 0; i < N * C; i++)
            out[i] = residual[i] + p->normed[i];
        return;
    }
    tg_linear_forward(out, inp, weight(p, w, l), weight(p, b, l), residual, N, width, C, &p->matmul);
}

/* x2 = x + proj(att) */
static void first_sublayer(tg_pass *p, size_t l)
{
    const tg_block_state *s = &p->block[l];
    const size_t C = p->model->config.n_embd;

    add_sublayer(p, s->x2, s->x, s->att, C, TG_ATT_PROJ_W, TG_ATT_PROJ_B, SITE_ATTENTION, l);
}

void tg_pass_attend(tg_pass *p, size_t l)
{
    const tg_config *c = &p->model->config;
    const size_t N = p->B * p->T, C = c->n_embd;
    const tg_dropout probs = dropout_at(p, SITE_PROBS, l);
    tg_block_state *s = &p->block[l];

    /* att = attention(ln_1(x)) */
    tg_layernorm_forward(p->normed, s->mean1, s->rstd1, s->x, weight(p, TG_LN1_W, l), weight(p, TG_LN1_B, l),
                         N, C, (float)c->layer_norm_epsilon);
    tg_linear_forward(s->qkv, p->normed, weight(p, TG_QKV_W, l), weight(p, TG_QKV_B, l), NULL, N, C, 3 * C,
                      &p->matmul);
    tg_attention_forward(s->att, s->lse, s->qkv, &probs, p->B, p->T, C, c->n_head, &p->attention);
}

void tg_pass_finish_block(tg_pass *p, size_t l)
{
    const tg_config *c = &p->model->config;
    const size_t N = p->B * p->T, C = c->n_embd;
    tg_block_state *s = &p->block[l];
    float *out = l + 1 < c->n_layer ? p->block[l + 1].x : p->x;

    /* x2 = x + proj(att) */
    first_sublayer(p, l);

    /* out = x2 + proj(gelu(fc(ln_2(x2)))) */
    tg_layernorm_forward(p->normed, s->mean2, s->rstd2, s->x2, weight(p, TG_LN2_W, l),
                         weight(p, TG_LN2_B, l), N, C, (float)c->layer_norm_epsilon);
    tg_linear_gelu_forward(p->wide, s->fc, p->normed, weight(p, TG_FC_W, l), weight(p, TG_FC_B, l), N, C,
                           4 * C, c->activation, &p->matmul);
    add_sublayer(p, out, s->x2, p->wide, 4 * C, TG_FC_PROJ_W, TG_FC_PROJ_B, SITE_MLP, l);
}

void tg_pass_begin(tg_pass *p, const int32_t *ids)
{
    tg_embedding_forward(p->block[0].x, ids, weight(p, TG_WTE, 0), weight(p, TG_WPE, 0), 0, p->B, p->T,
                         p->model->config.n_embd);
    drop(p, SITE_EMBEDDING, 0, p->block[0].x);
}

static void forward(tg_pass *p, const int32_t *ids)
{
    tg_pass_begin(p, ids);
    for (size_t l = 0; l < p->model->config.n_layer; l++) {
        tg_pass_attend(p, l);
        tg_pass_finish_block(p, l);
    }
}

/* ---- the head */

/* The mean loss of the last block's output; with grads its gradients too, as p->dnormed and
 * the head's own. */
static double head_loss(tg_pass *p, const int32_t *targets, float *grads, float share)
{
    const tg_config *c = &p->model->config;
    const size_t N = p->B * p->T;
    const tg_param_kind head_w = c->tied ? TG_WTE : TG_HEAD_W;
    const tg_head head = {
        .w = weight(p, head_w, 0),
        .bias = weight(p, TG_HEAD_B, 0),
        .dw = grads ? gradient(p, grads, head_w, 0) : NULL,
        .dbias = grads ? gradient(p, grads, TG_HEAD_B, 0) : NULL,
        .C = c->n_embd,
        .V = c->vocab_size,
    };
    double sum = 0;

    tg_layernorm_forward(p->normed, p->mean, p->rstd, p->x, weight(p, TG_LNF_W, 0), weight(p, TG_LNF_B, 0), N,
                         c->n_embd, (float)c->layer_norm_epsilon);
    tg_head_loss(p->losses, grads ? p->dnormed : NULL, p->normed, targets, &head, share / (float)N, N,
                 p->logits, &p->matmul);
    for (size_t n = 0; n < N; n++)
        sum += (double)p->losses[n];
    return sum / (double)N;
}

double tg_pass_loss(tg_pass *p, const int32_t *targets)
{
    return head_loss(p, targets, NULL, 1.0f);
}

/* ---- backward */

/*
 * The end of a sublayer, out = residual + drop(inp w + b): adds into dw and db, writes
 * dinp, which may be inp.  dx, the gradient of out, is the residual's too and stays as it is.
 */
static void sublayer_backward(tg_pass *p, float *dinp, const float *inp, size_t width, float *grads,
                              tg_param_kind w, tg_param_kind b, enum site site, size_t l)
{
    const size_t N = p->B * p->T, C = p->model->config.n_embd;
    const float *dout = p->dx;

    if (p->dropout > 0) {
        memcpy(p->normed, p->dx, N * C * sizeof(float));
        drop(p, site, l, p->normed);
        dout = p->normed;
    }
    tg_linear_backward(dinp, gradient(p, grads, w, l), gradient(p, grads, b, l), dout, inp, weight(p, w, l),
                       N, width, C, &p->matmul);
}

/* The second half: from dx of the block's output to dx of x2. */
static void mlp_backward(tg_pass *p, size_t l, float *grads)
{
    const tg_config *c = &p->model->config;
    const size_t N = p->B * p->T, C = c->n_embd;
    const tg_block_state *s = &p->block[l];

    if (p->shares_x2)
        first_sublayer(p, l);
    tg_gelu_slope(p->wide, s->fc, s->fc, N * 4 * C, c->activation); /* fc is not needed again */
    sublayer_backward(p, p->wide, p->wide, 4 * C, grads, TG_FC_PROJ_W, TG_FC_PROJ_B, SITE_MLP, l);
    tg_gelu_backward(p->wide, p->wide, s->fc, N * 4 * C);
    tg_layernorm_recompute(p->normed, s->mean2, s->rstd2, s->x2, weight(p, TG_LN2_W, l), weight(p, TG_LN2_B, l),
                       N, C);
    tg_linear_backward(p->dnormed, gradient(p, grads, TG_FC_W, l), gradient(p, grads, TG_FC_B, l), p->wide,
                       p->normed, weight(p, TG_FC_W, l), N, C, 4 * C, &p->matmul);
    tg_layernorm_backward(p->dx, gradient(p, grads, TG_LN2_W, l), gradient(p, grads, TG_LN2_B, l), p->dnormed,
                          s->x2, s->mean2, s->rstd2, weight(p, TG_LN2_W, l), N, C);
}

/* The first half: from dx of x2 to dx of x. */
static void attention_backward(tg_pass *p, size_t l, float *grads)
{
    const tg_config *c = &p->model->config;
    const size_t N = p->B * p->T, C = c->n_embd;
    const tg_dropout probs = dropout_at(p, SITE_PROBS, l);
    const tg_block_state *s = &p->block[l];
    float *dqkv = p->wide;

    sublayer_backward(p, p->dnormed, s->att, C, grads, TG_ATT_PROJ_W, TG_ATT_PROJ_B, SITE_ATTENTION, l);
    tg_attention_backward(dqkv, p->dnormed, s->att, s->lse, s->qkv, &probs, p->B, p->T, C, c->n_head,
                          &p->attention);
    tg_layernorm_recompute(p->normed, s->mean1, s->rstd1, s->x, weight(p, TG_LN1_W, l), weight(p, TG_LN1_B, l), N,
                       C);
    tg_linear_backward(p->dnormed, gradient(p, grads, TG_QKV_W, l), gradient(p, grads, TG_QKV_B, l), dqkv,
                       p->normed, weight(p, TG_QKV_W, l), N, C, 3 * C, &p->matmul);
    tg_layernorm_backward(p->dx, gradient(p, grads, TG_LN1_W, l), gradient(p, grads, TG_LN1_B, l), p->dnormed,
                          s->x, s->mean1, s->rstd1, weight(p, TG_LN1_W, l), N, C);
}

/* p->dnormed holds the gradient of ln_f's output. */
static void backward(tg_pass *p, const int32_t *ids, float *grads)
{
    const tg_config *c = &p->model->config;
    const size_t N = p->B * p->T, C = c->n_embd;

    memset(p->dx, 0, N * C * sizeof(float));
    tg_layernorm_backward(p->dx, gradient(p, grads, TG_LNF_W, 0), gradient(p, grads, TG_LNF_B, 0), p->dnormed,
                          p->x, p->mean, p->rstd, weight(p, TG_LNF_W, 0), N, C);
    for (size_t l = c->n_layer; l-- > 0;) {
        mlp_backward(p, l, grads);
        attention_backward(p, l, grads);
    }
    drop(p, SITE_EMBEDDING, 0, p->dx);
    tg_embedding_backward(gradient(p, grads, TG_WTE, 0), gradient(p, grads, TG_WPE, 0), p->dx, ids, p->B,
                          p->T, C);
}

double tg_pass_run(tg_pass *p, const int32_t *ids, const int32_t *targets, float *grads, float share)
{
    double loss;

    forward(p, ids);
    loss = head_loss(p, targets, grads, share);
    if (grads)
        backward(p, ids, grads);
    return loss;
}
