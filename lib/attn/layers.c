#include "lib/attn/layers.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/object.h"
#include "lib/gpt/family.h"
#include "lib/gpt/rope.h"

/* Space for a copy of a row, if the model has it. */
static float *place_copy(tg_arena *arena, const tg_attn_layers *n, size_t row)
{
    const tg_config *c = &n->model->config;
    const tg_act_row *act = &tg_config_family(c)->act[row];

    if (row == TG_ACT_NONE || !tg_config_when(act->when, c))
        return NULL;
    return tg_arena_take_rows(arena, n->T, tg_dim_size(act->cols, c), sizeof(float));
}

static void place_layers(tg_arena *arena, void *context)
{
    tg_attn_layers *n = context;
    const tg_family *family = tg_config_family(&n->model->config);

    tg_infer_place(arena, &n->infer, n->model, n->T, 0, 0);
    n->projected[0] = place_copy(arena, n, family->q_projected);
    n->projected[1] = place_copy(arena, n, family->k_projected);
    n->normed[0] = place_copy(arena, n, family->q_normed);
    n->normed[1] = place_copy(arena, n, family->k_normed);
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

tg_attention_rule tg_attn_layers_rule(const tg_attn_layers *n, size_t number)
{
    return n->model ? tg_config_attention_rule(&n->model->config, number) : n->given.rule;
}

tg_linear tg_attn_layer_proj(const tg_attn_layer *layer)
{
    return tg_bind_linear(&(tg_binding){.model = layer->model}, TG_ATT_PROJ_W, layer->number);
}

bool tg_attn_layer_has(const tg_attn_layer *layer, tg_attn_stage stage)
{
    switch (stage) {
    case TG_ATTN_QKV:
        return layer->qkv != NULL;
    case TG_ATTN_Q_PROJECTED:
        return layer->q_steps.projected != NULL;
    case TG_ATTN_K_PROJECTED:
        return layer->k_steps.projected != NULL;
    case TG_ATTN_Q_NORMED:
        return layer->q_steps.normed != NULL;
    case TG_ATTN_K_NORMED:
        return layer->k_steps.normed != NULL;
    default:
        return layer->x || !tg_attn_stage_of_model(stage);
    }
}

bool tg_attn_layers_have(const tg_attn_layers *n, tg_attn_stage stage)
{
    const tg_attn_layer given = {.q_steps = n->given_q, .k_steps = n->given_k};
    const tg_attn_layer made = {
        .x = n->infer.x,
        .qkv = n->model && tg_config_family(&n->model->config)->qkv ? n->infer.x : NULL,
        .q_steps = {.projected = n->projected[0], .normed = n->normed[0]},
        .k_steps = {.projected = n->projected[1], .normed = n->normed[1]},
    };

    return tg_attn_layer_has(n->model ? &made : &given, stage);
}

tg_status tg_attn_layers_select(tg_attn_layers *layers, const tg_attn_filter *filter, tg_err *err)
{
    const tg_status status = tg_attn_filter_check(filter, layers->L, layers->H, layers->T, err);

    if (!status)
        layers->filter = *filter;
    return status;
}

/* ---- q and k on their way */

static void copy_row(float *copy, const tg_attn_layers *n, size_t l, size_t row)
{
    const tg_matrix m = tg_acts_row(&n->infer.acts, l, row);

    for (size_t t = 0; t < n->T; t++)
        memcpy(copy + t * m.cols, tg_floats(m) + t * m.ld, m.cols * sizeof *copy);
}

/* Run from one place to a row of layer l, and copy two rows that lie before it. */
static size_t run_and_copy(tg_attn_layers *n, size_t from, size_t l, size_t row, float *const copy[2],
                           size_t q, size_t k)
{
    const size_t to = tg_place(&n->infer.acts, l, row);

    tg_infer_layers(&n->infer, from, to);
    copy_row(copy[0], n, l, q);
    copy_row(copy[1], n, l, k);
    return to;
}

/* Run from one place to the layer's attention.  Each step overwrites what it reads. */
static void run_to_attention(tg_attn_layers *n, size_t from, size_t l)
{
    const tg_family *f = n->infer.acts.family;

    if (n->projected[0])
        from = run_and_copy(n, from, l, n->normed[0] ? f->q_normed : f->q, n->projected, f->q_projected,
                            f->k_projected);
    if (n->normed[0])
        from = run_and_copy(n, from, l, f->q, n->normed, f->q_normed, f->k_normed);
    tg_infer_layers(&n->infer, from, tg_place(&n->infer.acts, l, f->att));
}

static tg_attn_steps steps_of(const tg_attn_layers *n, size_t l, size_t which, size_t normed, tg_param_kind w)
{
    const tg_acts *a = &n->infer.acts;
    tg_attn_steps steps = {.projected = n->projected[which], .normed = n->normed[which]};

    if (steps.normed) {
        steps.norm = tg_bind_rmsnorm(&a->bound, w, l);
        steps.rstd = tg_floats(tg_acts_row(a, l, normed + 1));
    }
    if (steps.projected && tg_config_rotates(&n->model->config, l))
        steps.angles = tg_rope_angles(a, l);
    return steps;
}

tg_qkv_view tg_attn_acts_view(const tg_acts *a, size_t layer)
{
    const tg_family *f = a->family;
    const tg_attention attention = tg_acts_attention(a);
    const tg_matrix q = tg_acts_row(a, layer, f->q), k = tg_acts_row(a, layer, f->k),
                    v = tg_acts_row(a, layer, f->v);

    return (tg_qkv_view){.B = a->B,
                         .T = a->T,
                         .C = a->C,
                         .H = attention.H,
                         .KV = attention.KV,
                         .D = attention.D,
                         .ldq = q.ld,
                         .ldk = k.ld,
                         .ldv = v.ld,
                         .q = tg_floats(q),
                         .k = tg_floats(k),
                         .v = tg_floats(v),
                         .rule = tg_config_attention_rule(&a->bound.model->config, layer)};
}

/* Run to where a layer's attention begins. */
static void step_model(tg_attn_layers *layers, tg_attn_layer *layer)
{
    tg_infer *f = &layers->infer;
    const tg_acts *a = &f->acts;
    const tg_family *family = a->family;
    const size_t l = layers->next;
    const tg_qkv qkv = {tg_acts_row(a, l, family->q), tg_acts_row(a, l, family->k),
                        tg_acts_row(a, l, family->v)};

    if (l == 0)
        tg_infer_begin(f, layers->ids, layers->T);
    run_to_attention(layers, l == 0 ? 0 : tg_place(a, l - 1, family->att), l);
    *layer = (tg_attn_layer){
        .number = l,
        .view = tg_attn_acts_view(a, l),
        .x = tg_floats(tg_acts_row(a, l, family->norm)),
        .qkv = family->qkv ? tg_floats(tg_acts_row(a, l, family->qkv)) : NULL,
        .model = layers->model,
        .residual = tg_acts_row(a, l, TG_ACT_X),
        .rows = qkv,
        .q_steps = steps_of(layers, l, 0, family->q_normed, TG_Q_NORM_W),
        .k_steps = steps_of(layers, l, 1, family->k_normed, TG_K_NORM_W),
    };
    layer->view.layout = layers->layout;
}

tg_status tg_attn_layers_check(const tg_attn_layers *n, tg_err *err)
{
    return n->model ? tg_model_check_lent(n->model, err) : TG_OK;
}

static bool step(tg_attn_layers *layers, tg_attn_layer *layer)
{
    const size_t wanted = layers->filter.layer, all = wanted == TG_ATTN_ALL ? layers->L : wanted + 1;

    if (layers->next == layers->L)
        return false;
    (void)tg_watch_report(layers->watch, (double)layers->next / (double)all);
    if (layers->model)
        step_model(layers, layer);
    if (tg_attn_layers_check(layers, NULL))
        return false;
    if (!layers->model)
        *layer =
            (tg_attn_layer){.view = layers->given, .q_steps = layers->given_q, .k_steps = layers->given_k};
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

bool tg_attn_layers_end(tg_attn_layers *layers)
{
    const tg_acts *a = &layers->infer.acts;
    tg_attn_layer layer;

    while (layers->next < layers->L)
        if (!step(layers, &layer))
            return false;
    tg_infer_layers(&layers->infer, tg_place(a, layers->L - 1, a->family->att), tg_layers_end(a));
    tg_infer_end(&layers->infer);
    return !tg_attn_layers_check(layers, NULL);
}

void tg_attn_layers_rewind(tg_attn_layers *layers)
{
    layers->next = 0;
}

void tg_attn_layers_close(tg_attn_layers *layers)
{
    tg_arena_free(&layers->arena);
}

/* Walks over the rows of one layer; false: no further layer is wanted. */
typedef bool (*walk_layer)(const tg_attn_layers *layers, const tg_attn_layer *layer, tg_attn_scratch *scratch,
                           const void *context);

static void place_walk(tg_arena *arena, void *context)
{
    tg_attn_scratch *scratch = context;

    tg_attn_scratch_place(arena, scratch, scratch->threads, scratch->panel.T, scratch->panel.D);
}

/* The remaining layers, with scratch for so many threads; 0: tg_threads(). */
static tg_status walk(tg_attn_layers *layers, size_t threads, walk_layer one, const void *context,
                      tg_err *err)
{
    tg_attn_scratch scratch = {.panel = {.T = layers->T, .D = layers->D}, .threads = threads};
    tg_arena arena;
    tg_attn_layer layer;
    tg_status status;

    if ((status = tg_arena_build(&arena, place_walk, &scratch, err)))
        return status;
    while (tg_attn_layers_next(layers, &layer) && one(layers, &layer, &scratch, context)) {
    }
    tg_arena_free(&arena);
    return tg_attn_layers_check(layers, err);
}

static bool walk_parallel(const tg_attn_layers *layers, const tg_attn_layer *layer, tg_attn_scratch *scratch,
                          const void *context)
{
    return tg_attn_walk_parallel(&layer->view, layer->number, &layers->filter, scratch, context);
}

tg_status tg_attn_layers_walk_parallel(tg_attn_layers *layers, const tg_attn_visitor *visitor, tg_err *err)
{
    return walk(layers, 0, walk_parallel, visitor, err);
}

/* A program's visit() and its context. */
typedef struct visiting {
    tg_attn_visit visit;
    void *context;
} visiting;

static bool walk_alone(const tg_attn_layers *layers, const tg_attn_layer *layer, tg_attn_scratch *scratch,
                       const void *context)
{
    const visiting *v = context;

    return tg_attn_walk(&layer->view, layer->number, &layers->filter, scratch, v->visit, v->context);
}

tg_status tg_attn_layers_walk(tg_attn_layers *layers, tg_attn_visit visit, void *context, tg_err *err)
{
    const visiting v = {visit, context};

    return walk(layers, 1, walk_alone, &v, err);
}

/* ---- for programs (lib/tg/attention.h) */

tg_status tg_attn_layers_new(tg_attn_layers **layers, const tg_model *model, const int32_t *ids, size_t T,
                             tg_err *err)
{
    *layers = NULL;
    if (T < 1 || T > model->config.n_ctx)
        return tg_fail(err, TG_EUSAGE, "the text has %zu tokens: expected 1 to %zu", T, model->config.n_ctx);
    for (size_t t = 0; t < T; t++)
        if (ids[t] < 0 || (size_t)ids[t] >= model->config.vocab_size)
            return tg_fail(err, TG_EUSAGE, "token %zu is %d: expected 0 to %zu", t, ids[t],
                           model->config.vocab_size - 1);
    *layers = tg_object_new(sizeof **layers, "a walk", err);
    return *layers ? tg_object_begun(layers, tg_attn_layers_model(*layers, model, ids, T, err)) : TG_ENOMEM;
}

void tg_attn_layers_destroy(tg_attn_layers *layers)
{
    if (layers)
        tg_attn_layers_close(layers);
    free(layers);
}
