#include "tests/unit/ref_gpt.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/nn/ref/ref.h"

/* One model under evaluation, and the scratch of its pass. */
struct pass {
    const tg_config *config;
    const tg_params *table;
    const double *flat;
    size_t B, T, C, H, V;
    double *x;           /* [B,T,C] residual stream */
    double *normed;      /* [B,T,C] */
    double *added;       /* [B,T,C] what a sublayer adds to x */
    double *fc;          /* [B,T,4C] */
    double *mean, *rstd; /* [B,T] */
    tg_attention_buffers_ref64 att;
};

static double *take(size_t n)
{
    double *p = calloc(n, sizeof *p);

    if (!p) {
        fprintf(stderr, "ref_gpt: no memory for %zu doubles\n", n);
        abort();
    }
    return p;
}

static void place(struct pass *f)
{
    size_t N = f->B * f->T;

    f->x = take(N * f->C);
    f->normed = take(N * f->C);
    f->added = take(N * f->C);
    f->fc = take(N * 4 * f->C);
    f->mean = take(N);
    f->rstd = take(N);
    f->att.qkv = take(N * 3 * f->C);
    f->att.q = take(N * f->C);
    f->att.k = take(N * f->C);
    f->att.v = take(N * f->C);
    f->att.scores = take(N * f->H * f->T);
    f->att.probs = take(N * f->H * f->T);
    f->att.att = take(N * f->C);
}

static void release(struct pass *f)
{
    double *all[] = {f->x,     f->normed, f->added, f->fc,         f->mean,      f->rstd,   f->att.qkv,
                     f->att.q, f->att.k,  f->att.v, f->att.scores, f->att.probs, f->att.att};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* A tensor, or NULL when the config leaves it out. */
static const double *weight(const struct pass *f, tg_param_kind kind, size_t l)
{
    size_t i = tg_params_index(f->table, kind, l);

    return i == f->table->n ? NULL : f->flat + f->table->entry[i].offset;
}

/* normed = layernorm(x) */
static void norm(struct pass *f, tg_param_kind w, tg_param_kind bias, size_t l)
{
    tg_layernorm_forward_ref64(f->normed, f->mean, f->rstd, f->x, weight(f, w, l), weight(f, bias, l),
                               f->B * f->T, f->C, f->config->layer_norm_epsilon);
}

/* The masks of one layer; each holds `count` numbers for a layer. */
static const double *of_layer(const double *masks, size_t l, size_t count)
{
    return masks ? masks + l * count : NULL;
}

/* x += dropout(added) */
static void add(struct pass *f, const double *mask)
{
    size_t n = f->B * f->T * f->C;

    if (mask)
        tg_dropout_forward_ref64(f->added, f->added, mask, n);
    for (size_t i = 0; i < n; i++)
        f->x[i] += f->added[i];
}

static void block(struct pass *f, size_t l, const ref_gpt_masks *masks)
{
    size_t B = f->B, T = f->T, C = f->C, H = f->H, N = B * T;

    norm(f, TG_LN1_W, TG_LN1_B, l);
    tg_self_attention_mha_forward_ref64(f->added, &f->att, f->normed, weight(f, TG_QKV_W, l),
                                        weight(f, TG_QKV_B, l), weight(f, TG_ATT_PROJ_W, l),
                                        weight(f, TG_ATT_PROJ_B, l), of_layer(masks->probs, l, B * H * T * T),
                                        B, T, H, C / H);
    add(f, of_layer(masks->att_proj, l, N * C));

    norm(f, TG_LN2_W, TG_LN2_B, l);
    tg_linear_forward_ref64(f->fc, f->normed, weight(f, TG_FC_W, l), weight(f, TG_FC_B, l), N, C, 4 * C);
    tg_gelu_forward_ref64(f->fc, f->fc, N * 4 * C, f->config->activation);
    tg_linear_forward_ref64(f->added, f->fc, weight(f, TG_FC_PROJ_W, l), weight(f, TG_FC_PROJ_B, l), N, 4 * C,
                            C);
    add(f, of_layer(masks->fc_proj, l, N * C));
}

/* logits[n,v] = sum over c of normed[n,c] * head[v,c] + bias[v] */
static void head(const struct pass *f, double *logits)
{
    const double *w = weight(f, f->config->tied ? TG_WTE : TG_HEAD_W, 0);
    const double *bias = weight(f, TG_HEAD_B, 0);
    size_t C = f->C, V = f->V;

    for (size_t n = 0; n < f->B * f->T; n++) {
        for (size_t v = 0; v < V; v++) {
            double sum = 0;

            for (size_t c = 0; c < C; c++)
                sum += f->normed[n * C + c] * w[v * C + c];
            logits[n * V + v] = bias ? sum + bias[v] : sum;
        }
    }
}

static double mean_loss(const double *logits, const int32_t *targets, size_t N, size_t V)
{
    double *losses = take(N);
    double sum = 0;

    tg_crossentropy_forward_ref64(losses, logits, targets, N, V);
    for (size_t n = 0; n < N; n++)
        sum += losses[n];
    free(losses);
    return sum / (double)N;
}

double ref_gpt_loss(const tg_config *config, const tg_params *table, const double *flat, const int32_t *ids,
                    const int32_t *targets, size_t B, size_t T, const ref_gpt_masks *masks, double *logits)
{
    static const ref_gpt_masks none;
    struct pass f = {.config = config, .table = table, .flat = flat, .B = B, .T = T};
    double *own = NULL, loss;

    f.C = config->n_embd;
    f.H = config->n_head;
    f.V = config->vocab_size;
    if (!masks)
        masks = &none;
    if (!logits)
        logits = own = take(B * T * f.V);
    place(&f);

    tg_embedding_forward_ref64(f.x, ids, weight(&f, TG_WTE, 0), weight(&f, TG_WPE, 0), B, T, f.C);
    if (masks->embedding)
        tg_dropout_forward_ref64(f.x, f.x, masks->embedding, B * T * f.C);
    for (size_t l = 0; l < config->n_layer; l++)
        block(&f, l, masks);
    norm(&f, TG_LNF_W, TG_LNF_B, 0);
    head(&f, logits);
    loss = mean_loss(logits, targets, B * T, f.V);

    release(&f);
    free(own);
    return loss;
}
