#include "lib/attn/layers.h"

#include "lib/gpt/family.h"

static void place_layers(tg_arena *arena, void *context)
{
    tg_attn_layers *layers = context;

    tg_infer_place(arena, &layers->infer, layers->model, layers->T, 0, 0);
}

tg_status tg_attn_layers_model(tg_attn_layers *layers, const tg_model *model, const int32_t *ids, size_t T,
                               tg_err *err)
{
    tg_attention attention;
    tg_status status;

    *layers = (tg_attn_layers){.L = model->config.n_layer,
                               .B = 1,
                               .T = T,
                               .C = model->config.n_embd,
                               .model = model,
                               .ids = ids,
                               .filter = TG_ATTN_KEEP_ALL};
    if ((status = tg_arena_build(&layers->arena, place_layers, layers, err)))
        return status;
    attention = tg_acts_attention(&layers->infer.acts);
    layers->H = attention.H;
    layers->KV = attention.KV;
    layers->D = attention.D;
    return TG_OK;
}

void tg_attn_layers_given(tg_attn_layers *layers, const tg_qkv_view *view)
{
    *layers = (tg_attn_layers){.L = 1,
                               .B = view->B,
                               .T = view->T,
                               .C = view->C,
                               .H = view->H,
                               .KV = view->KV,
                               .D = view->D,
                               .given = *view,
                               .filter = TG_ATTN_KEEP_ALL};
}

tg_qkv_view tg_attn_layers_shape(const tg_attn_layers *n)
{
    return (tg_qkv_view){
        .B = n->B, .T = n->T, .C = n->C, .H = n->H, .KV = n->KV, .D = n->D, .layout = n->layout};
}

bool tg_attn_layer_has(const tg_attn_layer *layer, tg_attn_stage stage)
{
    return stage == TG_ATTN_QKV ? layer->qkv != NULL : layer->x || !tg_attn_stage_of_model(stage);
}

tg_status tg_attn_layers_select(tg_attn_layers *layers, const tg_attn_filter *filter, tg_err *err)
{
    const tg_status status = tg_attn_filter_check(filter, layers->L, layers->H, layers->T, err);

    if (!status)
        layers->filter = *filter;
    return status;
}

/* Run to where a layer's attention begins. */
static void step_model(tg_attn_layers *layers, tg_attn_layer *layer)
{
    const tg_model *m = layers->model;
    tg_infer *f = &layers->infer;
    const tg_acts *a = &f->acts;
    const tg_family *family = a->family;
    const size_t l = layers->next;
    const tg_qkv qkv = {tg_acts_row(a, l, family->q), tg_acts_row(a, l, family->k),
                        tg_acts_row(a, l, family->v)};

    if (l == 0)
        tg_infer_begin(f, layers->ids, layers->T);
    tg_infer_layers(f, l == 0 ? 0 : tg_place(a, l - 1, family->att), tg_place(a, l, family->att));
    *layer = (tg_attn_layer){
        .number = l,
        .view = tg_attn_layers_shape(layers),
        .x = tg_floats(tg_acts_row(a, l, family->norm)),
        .qkv = family->qkv ? tg_floats(tg_acts_row(a, l, family->qkv)) : NULL,
        .proj = tg_bind_linear(&a->bound, TG_ATT_PROJ_W, l),
        .residual = tg_acts_row(a, l, TG_ACT_X),
        .rows = qkv,
    };
    layer->view.rule = tg_config_attention_rule(&m->config, l);
    layer->view.q = tg_floats(qkv.q);
    layer->view.k = tg_floats(qkv.k);
    layer->view.v = tg_floats(qkv.v);
    layer->view.ldq = qkv.q.ld;
    layer->view.ldk = qkv.k.ld;
    layer->view.ldv = qkv.v.ld;
}

static bool step(tg_attn_layers *layers, tg_attn_layer *layer)
{
    const size_t wanted = layers->filter.layer, all = wanted == TG_ATTN_ALL ? layers->L : wanted + 1;

    if (layers->next == layers->L)
        return false;
    (void)tg_watch_report(layers->watch, (double)layers->next / (double)all);
    if (layers->model)
        step_model(layers, layer);
    else
        *layer = (tg_attn_layer){.view = layers->given};
    layer->view.layout = layers->layout;
    layers->next++;
    return true;
}

bool tg_attn_layers_find(tg_attn_layers *layers, size_t number, tg_attn_layer *layer)
{
    while (layers->next <= number) {
        if (!step(layers, layer))
            return false;
        if (layer->number == number)
            return true;
    }
    return false;
}

bool tg_attn_layers_next(tg_attn_layers *layers, tg_attn_layer *layer)
{
    const size_t wanted = layers->filter.layer;

    return wanted == TG_ATTN_ALL ? step(layers, layer) : tg_attn_layers_find(layers, wanted, layer);
}

void tg_attn_layers_close(tg_attn_layers *layers)
{
    tg_arena_free(&layers->arena);
}

static void place_walk(tg_arena *arena, void *context)
{
    tg_attn_scratch *scratch = context;

    tg_attn_scratch_place(arena, scratch, 0, scratch->panel.T, scratch->panel.D);
}

tg_status tg_attn_layers_walk_parallel(tg_attn_layers *layers, const tg_attn_visitor *visitor, tg_err *err)
{
    tg_attn_scratch scratch = {.panel = {.T = layers->T, .D = layers->D}};
    tg_arena arena;
    tg_attn_layer layer;
    tg_status status;

    if ((status = tg_arena_build(&arena, place_walk, &scratch, err)))
        return status;
    while (tg_attn_layers_next(layers, &layer) &&
           tg_attn_walk_parallel(&layer.view, layer.number, &layers->filter, &scratch, visitor)) {
    }
    tg_arena_free(&arena);
    return TG_OK;
}
