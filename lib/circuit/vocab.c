#include "lib/circuit/vocab.h"

#include <math.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/circuit/factors.h"
#include "lib/circuit/product64.h"
#include "lib/gpt/bind.h"
#include "lib/gpt/family.h"

size_t tg_vocab_tokens(const tg_model *model)
{
    return tg_size_min(tg_tokenizer_vocab_size(model->tokenizer), model->config.vocab_size);
}

const float *tg_vocab_embedding(const tg_model *model, size_t first, size_t n)
{
    int32_t ids[TG_VOCAB_ROWS] = {0};

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)(first + i);
    return tg_model_embedding(model, ids, n) + first * model->config.n_embd;
}

static double embed_scale(const tg_config *c)
{
    return tg_config_has(c, TG_CONFIG_EMBED_SCALE) ? c->embed_scale : 1;
}

/* 1 / sqrt(mean of x^2 + epsilon) */
static double rstd_of(const float *x, size_t C, double epsilon)
{
    double sum = 0;

    for (size_t c = 0; c < C; c++)
        sum += (double)x[c] * (double)x[c];
    return 1 / sqrt(sum / (double)C + (double)(float)epsilon);
}

void tg_vocab_scales(double *scale, const float *rows, const tg_model *model, size_t n)
{
    const tg_config *c = &model->config;
    const bool normed = tg_config_family(c)->normed_embed;

    for (size_t i = 0; i < n; i++)
        scale[i] = normed ? rstd_of(rows + i * c->n_embd, c->n_embd, c->layer_norm_epsilon) : embed_scale(c);
}

void tg_vocab_vectors(double *e, const tg_model *model, size_t first, size_t n)
{
    const size_t C = model->config.n_embd;
    const float *rows = tg_vocab_embedding(model, first, n);
    double scale[TG_VOCAB_ROWS];

    tg_vocab_scales(scale, rows, model, n);
    for (size_t i = 0; i < n * C; i++)
        e[i] = scale[i / C] * (double)rows[i];
}

const float *tg_vocab_head(const tg_model *model, size_t first)
{
    return tg_model_weight(model, tg_head_kind(&model->config), 0) + first * model->config.n_embd;
}

void tg_vocab_norm(double *x, const tg_model *model, size_t n)
{
    const tg_rmsnorm norm = tg_bind_rmsnorm(&(tg_binding){.model = model}, TG_LNF_W, 0);
    const size_t C = model->config.n_embd;

    for (size_t i = 0; i < n; i++) {
        double *row = x + i * C;

        if (tg_factors_centred(&model->config))
            tg_factors_centre(row, C, 1);
        for (size_t c = 0; c < C; c++)
            row[c] *= tg_rmsnorm_gain(&norm, c);
    }
}

void tg_vocab_column(double *u, const tg_model *model, size_t token)
{
    const tg_rmsnorm norm = tg_bind_rmsnorm(&(tg_binding){.model = model}, TG_LNF_W, 0);
    const size_t C = model->config.n_embd;
    const float *row = tg_vocab_head(model, token);

    for (size_t c = 0; c < C; c++)
        u[c] = tg_rmsnorm_gain(&norm, c) * (double)row[c];
    if (tg_factors_centred(&model->config))
        tg_factors_centre(u, C, 1);
}

void tg_vocab_grams_place(tg_arena *arena, tg_vocab_grams *g, const tg_config *config)
{
    const size_t C = config->n_embd;

    g->ue = tg_arena_take_rows(arena, C, C, sizeof *g->ue);
    g->ee = tg_arena_take_rows(arena, C, C, sizeof *g->ee);
    g->e = tg_arena_take_rows(arena, TG_VOCAB_ROWS, C, sizeof *g->e);
}

/* c [C,C] += a^T e for rows [n,C] of both. */
static void add_rows(double *c, const void *a, tg_type a_type, const double *e, size_t n, size_t C,
                     bool upper)
{
    const tg_product64 p = {.M = C,
                            .N = C,
                            .K = n,
                            .a = a,
                            .b = e,
                            .a_type = a_type,
                            .b_type = TG_TYPE_DOUBLE,
                            .a_row = 1,
                            .a_col = C,
                            .b_row = C,
                            .b_col = 1,
                            .c = c,
                            .ldc = C,
                            .upper = upper};

    tg_product64_run(&p);
}

/* Whether E is the head's matrix times one number. */
static bool parallel(const tg_config *config)
{
    return config->tied && !tg_config_family(config)->normed_embed;
}

static bool sum_rows(tg_vocab_grams *g, const tg_model *model, const tg_watch *watch)
{
    const size_t V = tg_vocab_tokens(model), C = model->config.n_embd;

    for (size_t t = 0; t < V; t += TG_VOCAB_ROWS) {
        const size_t n = tg_size_min(TG_VOCAB_ROWS, V - t);

        tg_vocab_vectors(g->e, model, t, n);
        add_rows(g->ee, g->e, TG_TYPE_DOUBLE, g->e, n, C, true);
        if (!parallel(&model->config))
            add_rows(g->ue, tg_vocab_head(model, t), TG_TYPE_FLOAT, g->e, n, C, false);
        if (!tg_watch_report(watch, (double)(t + n) / (double)V))
            return false;
    }
    return true;
}

/* Below the diagonal, what is above it. */
static void mirror(double *a, size_t C)
{
    for (size_t i = 0; i < C; i++)
        for (size_t j = i + 1; j < C; j++)
            a[j * C + i] = a[i * C + j];
}

bool tg_vocab_grams_set(tg_vocab_grams *g, const tg_model *model, const tg_watch *watch)
{
    const size_t C = model->config.n_embd, bytes = C * C * sizeof *g->ee;
    const tg_rmsnorm norm = tg_bind_rmsnorm(&(tg_binding){.model = model}, TG_LNF_W, 0);

    memset(g->ee, 0, bytes);
    memset(g->ue, 0, bytes);
    if (!sum_rows(g, model, watch))
        return false;
    mirror(g->ee, C);
    for (size_t i = 0; i < C * C; i++) {
        if (parallel(&model->config))
            g->ue[i] = g->ee[i] / embed_scale(&model->config);
        g->ue[i] *= tg_rmsnorm_gain(&norm, i / C);
    }
    if (tg_factors_centred(&model->config))
        tg_factors_centre(g->ue, C, C);
    return true;
}
