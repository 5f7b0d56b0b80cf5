#include "tests/unit/ref_gpt.h"

#include <stdio.h>
#include <stdlib.h>

#include "lib/nn/ref/ref.h"

struct flat {
    const tg_params *table;
    const double *values;
};

static const double *get(void *context, tg_param_kind kind, size_t layer)
{
    const struct flat *f = context;
    const size_t i = tg_params_index(f->table, kind, layer);

    return i == f->table->n ? NULL : f->values + f->table->entry[i].offset;
}

static double *take(size_t n)
{
    double *p = calloc(n, sizeof *p);

    if (!p) {
        fprintf(stderr, "ref_gpt: no memory for %zu doubles\n", n);
        abort();
    }
    return p;
}

static double mean_loss(const double *logits, const int32_t *targets, size_t N, size_t V)
{
    double *losses = take(N), sum = 0;

    tg_crossentropy_forward_ref64(losses, logits, targets, N, V);
    for (size_t n = 0; n < N; n++)
        sum += losses[n];
    free(losses);
    return sum / (double)N;
}

double ref_gpt_loss(const tg_config *config, const tg_params *table, const double *flat, const int32_t *ids,
                    const int32_t *targets, size_t B, size_t T, const tg_plain_masks *masks, double *logits)
{
    struct flat values = {table, flat};
    double *own = logits ? NULL : take(B * T * config->vocab_size), loss;
    tg_plain p;
    tg_err err;

    if (tg_plain_open(&p, config, (tg_plain_weights){get, &values}, B, T, &err)) {
        fprintf(stderr, "ref_gpt: %s\n", err.message);
        abort();
    }
    if (masks)
        p.masks = *masks;
    tg_plain_embed(&p, ids);
    for (size_t l = 0; l < config->n_layer; l++) {
        tg_plain_attend(&p, l);
        tg_plain_mlp(&p, l);
    }
    tg_plain_logits(&p, logits ? logits : own);
    loss = mean_loss(logits ? logits : own, targets, B * T, config->vocab_size);
    tg_plain_close(&p);
    free(own);
    return loss;
}
