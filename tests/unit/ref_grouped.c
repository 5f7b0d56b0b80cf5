#include "tests/unit/ref_grouped.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "lib/gpt/gemma.h"
#include "tests/unit/small_model.h"

#define WIDEST 64 /* channels of any vector */

static double *take(size_t n)
{
    double *p = calloc(n, sizeof *p);

    if (!p) {
        fprintf(stderr, "ref_grouped: no memory for %zu doubles\n", n);
        abort();
    }
    return p;
}

void ref_grouped_open(ref_grouped *r, const tg_model *m, size_t T)
{
    const tg_config *c = &m->config;
    const size_t Q = c->n_head * tg_config_head_dim(c), KV = tg_config_kv_heads(c) * tg_config_head_dim(c);

    *r = (ref_grouped){.config = c, .table = &m->table, .T = T, .flat = small_model_params64(m)};
    r->x = take(T * c->n_embd);
    r->logits = take(T * c->vocab_size);
    for (size_t l = 0; l < c->n_layer; l++)
        r->layer[l] = (ref_grouped_layer){
            take(T * c->n_embd),     take(T * Q), take(T * KV), take(T * KV), take(c->n_head * T * T),
            take(c->n_head * T * T), take(T * Q)};
}

void ref_grouped_close(ref_grouped *r)
{
    for (size_t l = 0; l < r->config->n_layer; l++) {
        ref_grouped_layer *n = &r->layer[l];
        double *all[] = {n->x, n->q, n->k, n->v, n->scores, n->probs, n->att};

        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
    free(r->x);
    free(r->logits);
    free(r->flat);
}

static const double *weight(const ref_grouped *r, tg_param_kind kind, size_t l)
{
    return r->flat + r->table->entry[tg_params_index(r->table, kind, l)].offset;
}

static bool has(const ref_grouped *r, tg_param_kind kind)
{
    return tg_params_index(r->table, kind, 0) < r->table->n;
}

/* y [out] = x [in] W + b, W [in,out] or [out,in] as the family has it, and b the kind after it or none */
static void multiply(const ref_grouped *r, double *y, const double *x, tg_param_kind kind, size_t l,
                     size_t in, size_t out)
{
    const double *w = weight(r, kind, l), *b = has(r, kind + 1) ? weight(r, kind + 1, l) : NULL;
    const bool transposed = tg_config_family(r->config)->transposed;

    for (size_t o = 0; o < out; o++) {
        y[o] = b ? b[o] : 0;
        for (size_t i = 0; i < in; i++)
            y[o] += x[i] * w[transposed ? o * in + i : i * out + o];
    }
}

/* Whether norms have no gains: no parameter says that they are there. */
static bool is_bare(const ref_grouped *r)
{
    return strcmp(tg_config_family(r->config)->name, "nanochat") == 0;
}

/* The norm of x [n] by the gain of that kind, and with a bias after it by mean and variance; y may be x. */
static void normalize(const ref_grouped *r, double *y, const double *x, tg_param_kind kind, size_t l,
                      size_t n)
{
    const double *gain = has(r, kind) ? weight(r, kind, l) : NULL;
    const double *bias = has(r, kind + 1) ? weight(r, kind + 1, l) : NULL;
    double mean = 0, squares = 0;

    for (size_t i = 0; bias && i < n; i++)
        mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++)
        squares += (x[i] - mean) * (x[i] - mean) / (double)n;
    for (size_t i = 0; i < n; i++)
        y[i] = (gain ? r->config->norm_offset + gain[i] : 1) * (x[i] - mean) /
                   sqrt(squares + r->config->layer_norm_epsilon) +
               (bias ? bias[i] : 0);
}

/* What a sublayer reads of x. */
static void before(const ref_grouped *r, double *y, const double *x, tg_param_kind kind, size_t l)
{
    const size_t C = r->config->n_embd;

    memcpy(y, x, C * sizeof *y);
    if (has(r, kind) || is_bare(r))
        normalize(r, y, x, kind, l, C);
}

/* What it adds. */
static void after(const ref_grouped *r, double *added, tg_param_kind kind, size_t l)
{
    if (has(r, kind))
        normalize(r, added, added, kind, l, r->config->n_embd);
}

/* Of the pair that is this part of the way through a head. */
static double frequency(const tg_config *c, size_t l, double part)
{
    const bool local = c->rope_local_theta > 0 && c->window_layers >> l & 1;
    const double f = 1 / pow(local ? c->rope_local_theta : c->rope_theta, 2 * part),
                 wavelength = 2 * acos(-1) / f;
    const double longest = (double)c->rope_ctx / c->rope_low_freq;
    const double shortest = (double)c->rope_ctx / c->rope_high_freq;

    if (local)
        return f;
    if (c->rope_scaling == TG_ROPE_LINEAR || (c->rope_scaling == TG_ROPE_LLAMA3 && wavelength > longest))
        return f / c->rope_factor;
    if (c->rope_scaling == TG_ROPE_PLAIN || wavelength < shortest)
        return f;
    return f * (1 / c->rope_factor + (1 - 1 / c->rope_factor) *
                                         ((double)c->rope_ctx / wavelength - c->rope_low_freq) /
                                         (c->rope_high_freq - c->rope_low_freq));
}

/* Norm the heads of one token, each or all at once, if the config says so. */
static void normalize_heads(const ref_grouped *r, double *x, size_t heads, tg_param_kind kind, size_t l)
{
    const size_t D = r->config->head_dim;

    if (!has(r, kind) && !(is_bare(r) && r->config->qk_norm))
        return;
    if (strcmp(tg_config_family(r->config)->name, "olmo2") == 0)
        normalize(r, x, x, kind, l, heads * D);
    else
        for (size_t h = 0; h < heads; h++)
            normalize(r, x + h * D, x + h * D, kind, l, D);
}

/* Rotate the heads of one token, as complex numbers (x[i], x[i + D/2]). */
static void turn(const ref_grouped *r, double *x, size_t l, size_t heads, size_t position)
{
    const size_t D = tg_config_head_dim(r->config), d = tg_config_rope_dim(r->config);

    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < d / 2; i++) {
            const double angle = (double)position * frequency(r->config, l, (double)i / (double)d);
            double *re = &x[h * D + i], *im = &x[h * D + i + d / 2];
            const double was = *re;

            *re = was * cos(angle) - *im * sin(angle);
            *im = was * sin(angle) + *im * cos(angle);
        }
}

/* From r->x to the layer's att. */
static void attend(ref_grouped *r, size_t l)
{
    const tg_config *c = r->config;
    const size_t T = r->T, C = c->n_embd, H = c->n_head;
    const size_t KV = tg_config_kv_heads(c), D = tg_config_head_dim(c);
    ref_grouped_layer *n = &r->layer[l];
    double y[WIDEST];

    memcpy(n->x, r->x, T * C * sizeof *n->x);
    for (size_t t = 0; t < T; t++) {
        before(r, y, r->x + t * C, TG_LN1_W, l);
        multiply(r, n->q + t * H * D, y, TG_Q_W, l, C, H * D);
        multiply(r, n->k + t * KV * D, y, TG_K_W, l, C, KV * D);
        multiply(r, n->v + t * KV * D, y, TG_V_W, l, C, KV * D);
        normalize_heads(r, n->q + t * H * D, H, TG_Q_NORM_W, l);
        normalize_heads(r, n->k + t * KV * D, KV, TG_K_NORM_W, l);
        turn(r, n->q + t * H * D, l, H, t);
        turn(r, n->k + t * KV * D, l, KV, t);
    }
    memset(n->att, 0, T * H * D * sizeof *n->att);
    for (size_t h = 0; h < H; h++)
        for (size_t i = 0; i < T; i++) {
            double *s = n->scores + (h * T + i) * T, *p = n->probs + (h * T + i) * T, sum = 0;
            const size_t g = h * KV / H;

            for (size_t j = 0; j <= i; j++) {
                s[j] = 0;
                for (size_t d = 0; d < D; d++)
                    s[j] += n->q[(i * H + h) * D + d] * n->k[(j * KV + g) * D + d];
                s[j] *= c->attn_scale > 0 ? c->attn_scale : 1 / sqrt((double)D);
                if (c->attn_cap > 0)
                    s[j] = c->attn_cap * tanh(s[j] / c->attn_cap);
                if (c->window > 0 && c->window_layers >> l & 1 && i - j >= c->window)
                    s[j] = -1e9;
                sum += exp(s[j]);
            }
            for (size_t j = 0; j <= i; j++) {
                p[j] = exp(s[j]) / sum;
                for (size_t d = 0; d < D; d++)
                    n->att[(i * H + h) * D + d] += p[j] * n->v[(j * KV + g) * D + d];
            }
        }
}

/* SiLU, GELU or ReLU squared */
static double activation(const tg_config *c, double x)
{
    if (c->family == 1 || c->activation == TG_SILU)
        return x / (1 + exp(-x));
    if (c->activation == TG_RELU2)
        return x > 0 ? x * x : 0;
    if (c->activation == TG_GELU_ERF)
        return x / 2 * (1 + erf(x / sqrt(2)));
    return x / 2 * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

/* What the MLP adds, from what it reads. */
static void mlp(const ref_grouped *r, double *added, const double *y, size_t l)
{
    const tg_config *c = r->config;
    const size_t C = c->n_embd, F = c->n_inner;
    double gate[WIDEST], up[WIDEST];

    multiply(r, gate, y, has(r, TG_FC_W) ? TG_FC_W : TG_GATE_W, l, C, F);
    for (size_t i = 0; i < F; i++)
        up[i] = 1;
    if (has(r, TG_UP_W))
        multiply(r, up, y, TG_UP_W, l, C, F);
    for (size_t i = 0; i < F; i++)
        up[i] *= activation(c, gate[i]);
    multiply(r, added, up, TG_FC_PROJ_W, l, F, C);
    after(r, added, TG_DOWN_NORM_W, l);
}

/* The rest of the layer: r->x from the layer's x and att. */
static void finish(ref_grouped *r, size_t l, const double *x, const double *att)
{
    const tg_config *c = r->config;
    const size_t C = c->n_embd, Q = c->n_head * tg_config_head_dim(c);
    const bool parallel = has(r, TG_FC_W) && !is_bare(r);
    double y[WIDEST], added[WIDEST], x2[WIDEST];

    for (size_t t = 0; t < r->T; t++) {
        multiply(r, added, att + t * Q, TG_ATT_PROJ_W, l, Q, C);
        after(r, added, TG_OUT_NORM_W, l);
        for (size_t i = 0; i < C; i++)
            x2[i] = x[t * C + i] + added[i];
        before(r, y, parallel ? x + t * C : x2, TG_LN2_W, l);
        mlp(r, added, y, l);
        for (size_t i = 0; i < C; i++)
            r->x[t * C + i] = x2[i] + added[i];
    }
}

static double loss_of(ref_grouped *r, const int32_t *targets)
{
    const size_t C = r->config->n_embd, V = r->config->vocab_size;
    const double *w = weight(r, r->config->tied ? TG_WTE : TG_HEAD_W, 0);
    const double cap = r->config->final_logit_softcapping;
    double y[WIDEST], loss = 0;

    for (size_t t = 0; t < r->T; t++) {
        double *logits = r->logits + t * V, sum = 0;

        normalize(r, y, r->x + t * C, TG_LNF_W, 0, C);
        for (size_t v = 0; v < V; v++) {
            logits[v] = 0;
            for (size_t i = 0; i < C; i++)
                logits[v] += y[i] * w[v * C + i];
            if (cap > 0)
                logits[v] = cap * tanh(logits[v] / cap);
            sum += exp(logits[v]);
        }
        if (targets[t] >= 0)
            loss += log(sum) - logits[targets[t]];
    }
    return loss;
}

static double loss_after(ref_grouped *r, size_t l, const int32_t *targets)
{
    for (; l < r->config->n_layer; l++) {
        attend(r, l);
        finish(r, l, r->layer[l].x, r->layer[l].att);
    }
    return loss_of(r, targets);
}

double ref_grouped_loss(ref_grouped *r, const int32_t *ids, const int32_t *targets)
{
    const size_t C = r->config->n_embd;

    for (size_t t = 0; t < r->T; t++)
        for (size_t i = 0; i < C; i++)
            r->x[t * C + i] = weight(r, TG_WTE, 0)[(size_t)ids[t] * C + i] *
                              (r->config->embed_scale > 0 ? r->config->embed_scale : 1);
    for (size_t t = 0; is_bare(r) && t < r->T; t++)
        normalize(r, r->x + t * C, r->x + t * C, TG_LNF_W, 0, C);
    return loss_after(r, 0, targets);
}

double ref_grouped_loss_from(ref_grouped *r, size_t layer, const double *x, const double *att,
                             const int32_t *targets)
{
    finish(r, layer, x, att);
    return loss_after(r, layer + 1, targets);
}
