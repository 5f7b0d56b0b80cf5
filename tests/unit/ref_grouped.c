#include "tests/unit/ref_grouped.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/family_grouped.h"
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
    const size_t Q = c->n_head * c->head_dim, KV = c->n_kv_head * c->head_dim;

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

/* y [out] = x [in] W [in,out] */
static void multiply(double *y, const double *x, const double *w, size_t in, size_t out)
{
    for (size_t o = 0; o < out; o++) {
        y[o] = 0;
        for (size_t i = 0; i < in; i++)
            y[o] += x[i] * w[i * out + o];
    }
}

static void normalize(const ref_grouped *r, double *y, const double *x, const double *gain)
{
    const size_t C = r->config->n_embd;
    double mean = 0;

    for (size_t c = 0; c < C; c++)
        mean += x[c] * x[c] / (double)C;
    for (size_t c = 0; c < C; c++)
        y[c] = gain[c] * x[c] / sqrt(mean + r->config->layer_norm_epsilon);
}

/* Rotate the heads of one token, as complex numbers (x[i], x[i + D/2]). */
static void turn(const ref_grouped *r, double *x, size_t heads, size_t position)
{
    const size_t D = r->config->head_dim;

    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < D / 2; i++) {
            const double angle = (double)position / pow(r->config->rope_theta, 2.0 * (double)i / (double)D);
            double *re = &x[h * D + i], *im = &x[h * D + i + D / 2];
            const double was = *re;

            *re = was * cos(angle) - *im * sin(angle);
            *im = was * sin(angle) + *im * cos(angle);
        }
}

/* From r->x to the layer's att. */
static void attend(ref_grouped *r, size_t l)
{
    const tg_config *c = r->config;
    const size_t T = r->T, C = c->n_embd, H = c->n_head, KV = c->n_kv_head, D = c->head_dim;
    ref_grouped_layer *n = &r->layer[l];
    double y[WIDEST];

    memcpy(n->x, r->x, T * C * sizeof *n->x);
    for (size_t t = 0; t < T; t++) {
        normalize(r, y, r->x + t * C, weight(r, TG_LN1_W, l));
        multiply(n->q + t * H * D, y, weight(r, GROUPED_Q_W, l), C, H * D);
        multiply(n->k + t * KV * D, y, weight(r, GROUPED_K_W, l), C, KV * D);
        multiply(n->v + t * KV * D, y, weight(r, GROUPED_V_W, l), C, KV * D);
        turn(r, n->q + t * H * D, H, t);
        turn(r, n->k + t * KV * D, KV, t);
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
                s[j] /= sqrt((double)D);
                sum += exp(s[j]);
            }
            for (size_t j = 0; j <= i; j++) {
                p[j] = exp(s[j]) / sum;
                for (size_t d = 0; d < D; d++)
                    n->att[(i * H + h) * D + d] += p[j] * n->v[(j * KV + g) * D + d];
            }
        }
}

/* The rest of the layer: r->x from the layer's x and att. */
static void finish(ref_grouped *r, size_t l, const double *x, const double *att)
{
    const tg_config *c = r->config;
    const size_t C = c->n_embd, Q = c->n_head * c->head_dim, F = c->n_inner;
    double y[WIDEST], gate[WIDEST], up[WIDEST], added[WIDEST];

    for (size_t t = 0; t < r->T; t++) {
        double *x_t = r->x + t * C;

        multiply(added, att + t * Q, weight(r, TG_ATT_PROJ_W, l), Q, C);
        for (size_t i = 0; i < C; i++)
            x_t[i] = x[t * C + i] + added[i];
        normalize(r, y, x_t, weight(r, TG_LN2_W, l));
        multiply(gate, y, weight(r, GROUPED_GATE_W, l), C, F);
        multiply(up, y, weight(r, GROUPED_UP_W, l), C, F);
        for (size_t i = 0; i < F; i++)
            up[i] *= gate[i] / (1 + exp(-gate[i]));
        multiply(added, up, weight(r, TG_FC_PROJ_W, l), F, C);
        for (size_t i = 0; i < C; i++)
            x_t[i] += added[i];
    }
}

static double loss_of(ref_grouped *r, const int32_t *targets)
{
    const size_t C = r->config->n_embd, V = r->config->vocab_size;
    const double *w = weight(r, r->config->tied ? TG_WTE : TG_HEAD_W, 0);
    double y[WIDEST], loss = 0;

    for (size_t t = 0; t < r->T; t++) {
        double *logits = r->logits + t * V, sum = 0;

        normalize(r, y, r->x + t * C, weight(r, TG_LNF_W, 0));
        for (size_t v = 0; v < V; v++) {
            logits[v] = 0;
            for (size_t i = 0; i < C; i++)
                logits[v] += y[i] * w[v * C + i];
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
        memcpy(r->x + t * C, weight(r, TG_WTE, 0) + (size_t)ids[t] * C, C * sizeof *r->x);
    return loss_after(r, 0, targets);
}

double ref_grouped_loss_from(ref_grouped *r, size_t layer, const double *x, const double *att,
                             const int32_t *targets)
{
    finish(r, layer, x, att);
    return loss_after(r, layer + 1, targets);
}
