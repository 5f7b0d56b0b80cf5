#include "lib/attn/layers.h"

tg_status tg_attn_layers_model(tg_attn_layers *layers, const tg_model *model, const int32_t *ids, size_t T,
                               tg_err *err)
{
    const tg_config *c = &model->config;
    tg_status status;

    *layers = (tg_attn_layers){
        .L = c->n_layer, .B = 1, .T = T, .C = c->n_embd, .H = c->n_head, .model = model, .ids = ids};
    tg_infer_place(&layers->arena, &layers->infer, model, T, false);
    if ((status = tg_arena_alloc(&layers->arena, err)))
        return status;
    tg_infer_place(&layers->arena, &layers->infer, model, T, false);
    return TG_OK;
}

void tg_attn_layers_given(tg_attn_layers *layers, const tg_attn_view *view)
{
    *layers = (tg_attn_layers){
        .L = 1, .B = view->B, .T = view->T, .C = view->C, .H = view->H, .given = *view};
}

static void next_of_model(tg_attn_layers *layers, tg_attn_layer *layer)
{
    const tg_model *m = layers->model;
    tg_infer *f = &layers->infer;
    const size_t l = layers->next, T = layers->T, C = layers->C;

    if (l == 0)
        tg_infer_begin(f, layers->ids, T);
    else
        tg_infer_block(f, l - 1);
    tg_infer_qkv(f, l);
    *layer = (tg_attn_layer){
        .number = l,
        .view = {1, T, C, layers->H, 3 * C, f->qkv, f->qkv + C, f->qkv + 2 * C},
        .x = f->normed,
        .qkv = f->qkv,
        .w_qkv = tg_model_weight(m, TG_QKV_W, l),
        .b_qkv = tg_model_weight(m, TG_QKV_B, l),
        .w_proj = tg_model_weight(m, TG_ATT_PROJ_W, l),
        .b_proj = tg_model_weight(m, TG_ATT_PROJ_B, l),
        .residual = f->x,
    };
}

bool tg_attn_layers_next(tg_attn_layers *layers, tg_attn_layer *layer)
{
    if (layers->next == layers->L)
        return false;
    if (layers->model)
        next_of_model(layers, layer);
    else
        *layer = (tg_attn_layer){.view = layers->given};
    layers->next++;
    return true;
}

void tg_attn_layers_close(tg_attn_layers *layers)
{
    tg_arena_free(&layers->arena);
}

tg_status tg_attn_layers_walk(tg_attn_layers *layers, const tg_attn_pick *pick, tg_attn_visit visit,
                              void *context, tg_err *err)
{
    const size_t l_end = pick->layer == TG_ATTN_ALL ? layers->L : pick->layer + 1;
    tg_arena arena = {0};
    tg_attn_layer layer;
    tg_attn_work work;
    tg_status status = tg_attn_pick_check(pick, layers->L, layers->H, layers->T, err);

    if (status)
        return status;
    tg_attn_place(&arena, &work, layers->T, layers->C / layers->H);
    if ((status = tg_arena_alloc(&arena, err)))
        return status;
    tg_attn_place(&arena, &work, layers->T, layers->C / layers->H);
    while (layers->next < l_end && tg_attn_layers_next(layers, &layer)) {
        if (pick->layer != TG_ATTN_ALL && layer.number != pick->layer)
            continue;
        if (!tg_attn_walk(&layer.view, layer.number, pick, &work, visit, context))
            break;
    }
    tg_arena_free(&arena);
    return TG_OK;
}
