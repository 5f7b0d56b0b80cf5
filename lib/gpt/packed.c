#include "lib/gpt/packed.h"

static bool is_head(const tg_model *model, const tg_param *t)
{
    return t->kind == (model->config.tied ? TG_WTE : TG_HEAD_W);
}

/* Matrices that are multiplied with; the embeddings are looked up. */
static bool is_matrix(const tg_model *model, const tg_param *t)
{
    return t->ndim == 2 && (is_head(model, t) || (t->kind != TG_WTE && t->kind != TG_WPE));
}

static void place(tg_packed *p, const tg_model *model, tg_precision precision)
{
    const tg_params *table = &model->table;

    p->matrix = tg_arena_take(&p->arena, table->n, sizeof *p->matrix);
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *t = &table->entry[i];
        const bool head = is_head(model, t);
        tg_weights w = {0};

        if (is_matrix(model, t))
            tg_weights_place(&p->arena, &w, t->shape[head], t->shape[!head], precision);
        if (p->matrix)
            p->matrix[i] = w;
    }
}

tg_status tg_packed_create(tg_packed *p, const tg_model *model, tg_precision precision, tg_err *err)
{
    const tg_params *table = &model->table;
    tg_status status;

    *p = (tg_packed){0};
    place(p, model, precision);
    if ((status = tg_arena_alloc(&p->arena, err)))
        return status;
    place(p, model, precision);
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *t = &table->entry[i];
        const tg_weights *w = &p->matrix[i];

        if (!w->panels)
            continue;
        if (is_head(model, t))
            tg_weights_pack(w, model->weight[i], 1, w->K);
        else
            tg_weights_pack(w, model->weight[i], w->N, 1);
    }
    return TG_OK;
}

void tg_packed_free(tg_packed *p)
{
    tg_arena_free(&p->arena);
}

const tg_weights *tg_packed_get(const tg_packed *p, const tg_model *model, tg_param_kind kind, size_t layer)
{
    return &p->matrix[tg_params_index(&model->table, kind, layer)];
}
