#include "lib/attn/plain_layers.h"

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

static void place_plain(tg_arena *arena, void *context)
{
    tg_plain_layers *p = context;
    const tg_params *table = &p->model->table;
    const size_t C = p->model->config.n_embd, T = p->plain.T;

    for (size_t i = 0; i < table->n; i++) {
        const tg_param *t = &table->entry[i];

        if (t->layer == 0 && t->kind != TG_HEAD_W)
            p->weight[t->kind] = tg_arena_take(arena, t->count, sizeof(double));
    }
    p->resid = tg_arena_take_rows(arena, T, C, sizeof(float));
    p->x = tg_arena_take_rows(arena, T, C, sizeof(float));
    p->qkv = tg_arena_take_rows(arena, T, 3 * C, sizeof(float));
}

tg_status tg_plain_layers_open(tg_plain_layers *p, const tg_model *model, const int32_t *ids, size_t T,
                               tg_err *err)
{
    tg_status status;

    *p = (tg_plain_layers){.model = model};
    if (tg_config_family(&model->config) != &tg_gpt2)
        return tg_fail(err, TG_EDATA, "the plain model is of the family %s, this one is of %s", tg_gpt2.name,
                       tg_config_family(&model->config)->name);
    if ((status = tg_plain_open(&p->plain, &model->config, (tg_plain_weights){get, p}, 1, T, err)))
        return status;
    if ((status = tg_arena_build(&p->arena, place_plain, p, err))) {
        tg_plain_close(&p->plain);
        return status;
    }
    tg_plain_embed(&p->plain, ids);
    return TG_OK;
}

void tg_plain_layers_close(tg_plain_layers *p)
{
    tg_arena_free(&p->arena);
    tg_plain_close(&p->plain);
    *p = (tg_plain_layers){0};
}

static void rounded(float *out, const double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (float)x[i];
}

void tg_plain_layers_find(tg_plain_layers *p, size_t number, tg_attn_layer *layer)
{
    const tg_config *c = &p->model->config;
    const size_t T = p->plain.T, C = c->n_embd;

    for (; p->next <= number; p->next++) {
        if (p->next > 0)
            tg_plain_mlp(&p->plain, p->next - 1);
        rounded(p->resid, p->plain.x, T * C);
        tg_plain_attend(&p->plain, p->next);
    }
    rounded(p->x, p->plain.normed, T * C);
    rounded(p->qkv, p->plain.att.qkv, T * 3 * C);
    *layer = (tg_attn_layer){
        .number = number,
        .view = tg_attn_shape_of(1, T, C, c->n_head),
        .x = p->x,
        .qkv = p->qkv,
        .model = p->model,
        .residual = tg_matrix_of(p->resid, TG_TYPE_FLOAT, C),
    };
    layer->view.q = p->qkv;
    layer->view.k = p->qkv + C;
    layer->view.v = p->qkv + 2 * C;
    layer->view.ldq = layer->view.ldk = layer->view.ldv = 3 * C;
    layer->view.layout = p->layout;
}
