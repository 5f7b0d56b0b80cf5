#include "lib/attn/plain_layers.h"

#include <string.h>

#include "lib/base/convert.h"
#include "lib/gpt/family.h"

/* A tensor in double precision, kept until the same one of another layer is asked for. */
static const double *get(void *context, tg_param_kind kind, size_t layer)
{
    tg_plain_layers *p = context;
    const tg_params *table = &p->model->table;
    const size_t i = tg_params_index(table, kind, layer);

    if (i == table->n)
        return NULL;
    if (p->layer_of[kind] != layer + 1)
        tg_double_from_float(p->weight[kind], tg_model_values(p->model, i), table->entry[i].count);
    p->layer_of[kind] = layer + 1;
    return p->weight[kind];
}

static bool is_gpt2(const tg_plain_layers *p)
{
    return tg_config_family(&p->model->config) == &tg_gpt2;
}

static void place_plain(tg_arena *arena, void *context)
{
    tg_plain_layers *p = context;
    const tg_params *table = &p->model->table;

    for (size_t i = 0; i < table->n; i++) {
        const tg_param *t = &table->entry[i];

        if (t->layer == 0 && t->kind != TG_HEAD_W)
            p->weight[t->kind] = tg_arena_take(arena, t->count, sizeof(double));
    }
    if (is_gpt2(p))
        p->resid = tg_arena_take_rows(arena, p->T, p->model->config.n_embd, sizeof(double));
}

static tg_status open_model(tg_plain_layers *p, tg_err *err)
{
    const tg_config *config = &p->model->config;
    const tg_plain_weights weights = {get, p};

    if (is_gpt2(p))
        return tg_plain_open(&p->gpt2, config, weights, 1, p->T, err);
    if (!tg_plain_llama_knows(config))
        return tg_fail(err, TG_EDATA, "no plain model is of the family %s", tg_config_family(config)->name);
    return tg_plain_llama_open(&p->llama, config, weights, p->T, err);
}

tg_status tg_plain_layers_open(tg_plain_layers *p, const tg_model *model, const int32_t *ids, size_t T,
                               tg_err *err)
{
    tg_status status;

    *p = (tg_plain_layers){.model = model, .T = T};
    if ((status = open_model(p, err)))
        return status;
    if ((status = tg_arena_build(&p->arena, place_plain, p, err))) {
        tg_plain_layers_close(p);
        return status;
    }
    if (is_gpt2(p))
        tg_plain_embed(&p->gpt2, ids);
    else
        tg_plain_llama_embed(&p->llama, ids);
    return TG_OK;
}

void tg_plain_layers_close(tg_plain_layers *p)
{
    tg_arena_free(&p->arena);
    tg_plain_close(&p->gpt2);
    tg_plain_llama_close(&p->llama);
    *p = (tg_plain_layers){0};
}

/* ---- one layer, without its MLP, after that of the layer before */

static void step_gpt2(tg_plain_layers *p, size_t l)
{
    tg_plain *of = &p->gpt2;

    if (l > 0)
        tg_plain_mlp(of, l - 1);
    memcpy(p->resid, of->x, p->T * of->config->n_embd * sizeof *p->resid);
    tg_plain_attend(of, l);
}

static void step_llama(tg_plain_llama *of, size_t l)
{
    if (l > 0)
        tg_plain_llama_mlp(of, l - 1);
    tg_plain_llama_attend(of, l);
    tg_plain_llama_project(of, l);
}

void tg_plain_layers_find(tg_plain_layers *p, size_t number)
{
    for (; p->next <= number; p->next++)
        if (is_gpt2(p))
            step_gpt2(p, p->next);
        else
            step_llama(&p->llama, p->next);
}

const double *tg_plain_layers_stage(const tg_plain_layers *p, tg_attn_stage stage)
{
    const tg_plain *g = &p->gpt2;
    const tg_plain_llama *m = &p->llama;
    const bool normed = p->model->config.qk_norm;
    const double *const of_gpt2[TG_ATTN_STAGE_COUNT] = {
        [TG_ATTN_RESID] = p->resid,       [TG_ATTN_X] = g->normed,        [TG_ATTN_QKV] = g->att.qkv,
        [TG_ATTN_Q] = g->att.q,           [TG_ATTN_K] = g->att.k,         [TG_ATTN_V] = g->att.v,
        [TG_ATTN_SCORES] = g->att.scores, [TG_ATTN_PROBS] = g->att.probs, [TG_ATTN_ATT] = g->att.att,
        [TG_ATTN_OUT] = g->added,
    };
    const double *const of_llama[TG_ATTN_STAGE_COUNT] = {
        [TG_ATTN_RESID] = m->block_x,
        [TG_ATTN_X] = m->normed,
        [TG_ATTN_Q_PROJECTED] = m->q,
        [TG_ATTN_K_PROJECTED] = m->k,
        [TG_ATTN_Q_NORMED] = normed ? m->q_normed : NULL,
        [TG_ATTN_K_NORMED] = normed ? m->k_normed : NULL,
        [TG_ATTN_Q] = m->q_rotated,
        [TG_ATTN_K] = m->k_rotated,
        [TG_ATTN_V] = m->v,
        [TG_ATTN_SCORES] = m->scores,
        [TG_ATTN_PROBS] = m->probs,
        [TG_ATTN_ATT] = m->att,
        [TG_ATTN_OUT] = m->out,
    };

    return is_gpt2(p) ? of_gpt2[stage] : of_llama[stage];
}
