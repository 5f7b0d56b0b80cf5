#include "tests/unit/ref_parallel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/small_model.h"

static double *take(double **next, size_t n)
{
    double *p = *next;

    *next += n;
    return p;
}

void ref_parallel_open(ref_parallel *r, const tg_model *m, size_t B, size_t T)
{
    const size_t N = B * T, C = m->config.n_embd, H = m->config.n_head, V = m->config.vocab_size;
    double *next = calloc(N * (15 * C + 3 + V + 2 * H * T), sizeof *next);

    if (!next) {
        fprintf(stderr, "ref_parallel: no memory for %zu rows\n", N);
        abort();
    }
    *r = (ref_parallel){.config = &m->config, .table = &m->table, .B = B, .T = T, .C = C, .H = H, .V = V};
    r->flat = small_model_params64(m);
    r->all = next;
    r->x = take(&next, N * C);
    r->normed = take(&next, N * C);
    r->added = take(&next, N * C);
    r->mlp = take(&next, N * C);
    r->fc = take(&next, N * 4 * C);
    r->mean = take(&next, N);
    r->rstd = take(&next, N);
    r->logits = take(&next, N * V);
    r->losses = take(&next, N);
    r->att.qkv = take(&next, N * 3 * C);
    r->att.q = take(&next, N * C);
    r->att.k = take(&next, N * C);
    r->att.v = take(&next, N * C);
    r->att.att = take(&next, N * C);
    r->att.scores = take(&next, N * H * T);
    r->att.probs = take(&next, N * H * T);
}

void ref_parallel_close(ref_parallel *r)
{
    free(r->flat);
    free(r->all);
}

/* A tensor, or NULL when the config leaves it out. */
static const double *weight(const ref_parallel *r, tg_param_kind kind, size_t l)
{
    const size_t i = tg_params_index(r->table, kind, l);

    return i == r->table->n ? NULL : r->flat + r->table->entry[i].offset;
}

/* normed = layernorm(x) */
static void norm(ref_parallel *r, tg_param_kind w, tg_param_kind b, size_t l)
{
    tg_layernorm_forward_ref64(r->normed, r->mean, r->rstd, r->x, weight(r, w, l), weight(r, b, l),
                               r->B * r->T, r->C, r->config->layer_norm_epsilon);
}

/* x [n] times the mask of one layer; masks holds n numbers for each. */
static void drop(double *x, const double *masks, size_t l, size_t n)
{
    if (masks)
        tg_dropout_forward_ref64(x, x, masks + l * n, n);
}

/* att = attention(ln_1(x)) */
static void attend(ref_parallel *r, size_t l)
{
    const size_t B = r->B, T = r->T, H = r->H;
    const double *keep = r->masks.probs ? r->masks.probs + l * B * H * T * T : NULL;

    norm(r, TG_LN1_W, TG_LN1_B, l);
    tg_self_attention_mha_forward_ref64(r->added, &r->att, r->normed, weight(r, TG_QKV_W, l),
                                        weight(r, TG_QKV_B, l), weight(r, TG_ATT_PROJ_W, l),
                                        weight(r, TG_ATT_PROJ_B, l), keep, B, T, H, r->C / H);
}

/* x += att W + b + extra + mlp(ln_1(x)); extra may be NULL */
static void finish(ref_parallel *r, size_t l, const double *extra)
{
    const size_t N = r->B * r->T, C = r->C;
    const double *w = weight(r, TG_FC_PROJ_W, l), *b = weight(r, TG_FC_PROJ_B, l);

    norm(r, TG_LN1_W, TG_LN1_B, l);
    tg_linear_forward_ref64(r->fc, r->normed, weight(r, TG_FC_W, l), weight(r, TG_FC_B, l), N, C, 4 * C);
    tg_activation_forward_ref64(r->fc, r->fc, N * 4 * C, r->config->activation);
    tg_linear_forward_ref64(r->mlp, r->fc, w, b, N, 4 * C, C);
    drop(r->mlp, r->masks.fc_proj, l, N * C);

    w = weight(r, TG_ATT_PROJ_W, l), b = weight(r, TG_ATT_PROJ_B, l);
    tg_linear_forward_ref64(r->added, r->att.att, w, b, N, C, C);
    drop(r->added, r->masks.att_proj, l, N * C);
    for (size_t i = 0; i < N * C; i++)
        r->x[i] += r->added[i] + (extra ? extra[i] : 0) + r->mlp[i];
}

/* logits[n,v] = sum over c of ln_f(x)[n,c] * head[v,c] + bias[v] */
static void head(ref_parallel *r)
{
    const double *w = weight(r, r->config->tied ? TG_WTE : TG_HEAD_W, 0), *bias = weight(r, TG_HEAD_B, 0);
    const size_t C = r->C, V = r->V;

    norm(r, TG_LNF_W, TG_LNF_B, 0);
    for (size_t n = 0; n < r->B * r->T; n++) {
        for (size_t v = 0; v < V; v++) {
            double sum = 0;

            for (size_t c = 0; c < C; c++)
                sum += r->normed[n * C + c] * w[v * C + c];
            r->logits[n * V + v] = bias ? sum + bias[v] : sum;
        }
    }
}

static double mean_loss(ref_parallel *r, const int32_t *targets)
{
    const size_t N = r->B * r->T;
    double sum = 0;

    head(r);
    tg_crossentropy_forward_ref64(r->losses, r->logits, targets, N, r->V);
    for (size_t n = 0; n < N; n++)
        sum += r->losses[n];
    return sum / (double)N;
}

double ref_parallel_loss(ref_parallel *r, const int32_t *ids, const int32_t *targets)
{
    tg_embedding_forward_ref64(r->x, ids, weight(r, TG_WTE, 0), weight(r, TG_WPE, 0), r->B, r->T, r->C);
    drop(r->x, r->masks.embedding, 0, r->B * r->T * r->C);
    for (size_t l = 0; l < r->config->n_layer; l++) {
        attend(r, l);
        finish(r, l, NULL);
    }
    return mean_loss(r, targets);
}

double ref_parallel_loss_from(ref_parallel *r, size_t layer, const double *x, const double *att,
                              const double *extra, const int32_t *targets)
{
    const size_t n = r->B * r->T * r->C;

    memcpy(r->x, x, n * sizeof *x);
    memcpy(r->att.att, att, n * sizeof *att);
    finish(r, layer, extra);
    for (size_t l = layer + 1; l < r->config->n_layer; l++) {
        attend(r, l);
        finish(r, l, NULL);
    }
    return mean_loss(r, targets);
}
