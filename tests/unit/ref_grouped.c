#include "tests/unit/ref_grouped.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gpt/family.h"
#include "tests/unit/small_model.h"

static double *take(size_t n)
{
    double *p = calloc(n, sizeof *p);

    if (!p) {
        fprintf(stderr, "ref_grouped: no memory for %zu doubles\n", n);
        abort();
    }
    return p;
}

static const double *get(void *context, tg_param_kind kind, size_t layer)
{
    const ref_grouped *r = context;
    const size_t i = tg_params_index(r->table, kind, layer);

    return i == r->table->n ? NULL : r->flat + r->table->entry[i].offset;
}

void ref_grouped_open(ref_grouped *r, const tg_model *m, size_t T)
{
    const tg_config *c = &r->config;
    const size_t Q = tg_dim_size(TG_DIM_Q, &m->config), KV = tg_dim_size(TG_DIM_KV, &m->config);
    tg_err err;

    *r = (ref_grouped){.config = m->config, .table = &m->table, .T = T, .flat = small_model_params64(m)};
    if (!tg_config_has(c, TG_CONFIG_ACTIVATION)) /* tests/unit/family_grouped.c */
        r->config.activation = TG_SILU;
    if (tg_plain_llama_open(&r->plain, c, (tg_plain_weights){get, r}, T, &err)) {
        fprintf(stderr, "ref_grouped: %s\n", err.message);
        abort();
    }
    r->logits = take(T * c->vocab_size);
    for (size_t l = 0; l < c->n_layer; l++)
        r->layer[l] = (ref_grouped_layer){
            take(T * c->n_embd),     take(T * Q), take(T * KV), take(T * KV), take(c->n_head * T * T),
            take(c->n_head * T * T), take(T * Q)};
}

void ref_grouped_close(ref_grouped *r)
{
    for (size_t l = 0; l < r->config.n_layer; l++) {
        ref_grouped_layer *n = &r->layer[l];
        double *all[] = {n->x, n->q, n->k, n->v, n->scores, n->probs, n->att};

        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            free(all[i]);
    }
    tg_plain_llama_close(&r->plain);
    free(r->logits);
    free(r->flat);
}

/* Copy what the plain model has of the last layer. */
static void keep(ref_grouped *r, size_t l)
{
    const tg_plain_llama *p = &r->plain;
    const ref_grouped_layer *n = &r->layer[l];
    const size_t Q = r->T * tg_dim_size(TG_DIM_Q, &r->config), KV = r->T * tg_dim_size(TG_DIM_KV, &r->config);
    const size_t squares = r->config.n_head * r->T * r->T;

    memcpy(n->x, p->block_x, r->T * r->config.n_embd * sizeof(double));
    memcpy(n->q, p->q_rotated, Q * sizeof(double));
    memcpy(n->k, p->k_rotated, KV * sizeof(double));
    memcpy(n->v, p->v, KV * sizeof(double));
    memcpy(n->scores, p->scores, squares * sizeof(double));
    memcpy(n->probs, p->probs, squares * sizeof(double));
    memcpy(n->att, p->att, Q * sizeof(double));
}

/* The rest of a layer, all later ones, and the loss. */
static double loss_after(ref_grouped *r, size_t l, const int32_t *targets)
{
    const size_t V = r->config.vocab_size;
    double *losses = take(r->T), sum = 0;

    tg_plain_llama_project(&r->plain, l);
    tg_plain_llama_mlp(&r->plain, l);
    for (l++; l < r->config.n_layer; l++) {
        tg_plain_llama_attend(&r->plain, l);
        keep(r, l);
        tg_plain_llama_project(&r->plain, l);
        tg_plain_llama_mlp(&r->plain, l);
    }
    tg_plain_llama_logits(&r->plain, r->logits);
    tg_crossentropy_forward_ref64(losses, r->logits, targets, r->T, V);
    for (size_t t = 0; t < r->T; t++)
        sum += losses[t];
    free(losses);
    return sum;
}

double ref_grouped_loss(ref_grouped *r, const int32_t *ids, const int32_t *targets)
{
    tg_plain_llama_embed(&r->plain, ids);
    tg_plain_llama_attend(&r->plain, 0);
    keep(r, 0);
    return loss_after(r, 0, targets);
}

double ref_grouped_loss_from(ref_grouped *r, size_t layer, const double *x, const double *att,
                             const int32_t *targets)
{
    tg_plain_llama *p = &r->plain;

    memcpy(p->x, x, r->T * r->config.n_embd * sizeof *x);
    memcpy(p->block_x, x, r->T * r->config.n_embd * sizeof *x);
    memcpy(p->att, att, r->T * tg_dim_size(TG_DIM_Q, &r->config) * sizeof *att);
    return loss_after(r, layer, targets);
}
