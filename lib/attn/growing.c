#include "lib/attn/growing.h"

#include <assert.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/gpt/family.h"
#include "lib/kernels/attend.h"

struct placing {
    tg_attn_growing *g;
    const tg_model *model;
    size_t first;
};

static void place_growing(tg_arena *arena, void *context)
{
    const struct placing *p = context;
    tg_attn_growing *g = p->g;
    const size_t rows = tg_size_min(g->keys, tg_size_max(p->first, TG_ATTEND_FEW));
    tg_attention shape;

    tg_infer_place(arena, &g->infer, p->model, rows, 1, g->keys);
    shape = tg_acts_attention(&g->infer.acts);
    g->ids = tg_arena_take(arena, g->keys, sizeof *g->ids);
    g->q = tg_arena_take_rows(arena, g->keys, shape.H * shape.D, sizeof *g->q);
    tg_attn_scratch_place(arena, &g->scratch, 1, g->keys, shape.D);
}

tg_status tg_attn_growing_open(tg_attn_growing *g, const tg_model *model, size_t keys, size_t first,
                               tg_err *err)
{
    *g = (tg_attn_growing){.keys = keys};
    return tg_arena_build(&g->arena, place_growing, &(struct placing){g, model, first}, err);
}

void tg_attn_growing_close(tg_attn_growing *g)
{
    tg_arena_free(&g->arena);
}

tg_qkv_view tg_attn_growing_shape(const tg_attn_growing *g)
{
    const tg_attention shape = tg_acts_attention(&g->infer.acts);

    return (tg_qkv_view){
        .B = 1, .T = g->T, .C = g->infer.model->config.n_embd, .H = shape.H, .KV = shape.KV, .D = shape.D};
}

/* A layer's attention, of whose queries the last one is known. */
static tg_qkv_view view_of(const tg_attn_growing *g, size_t l)
{
    const tg_kv_cache *cache = &g->infer.cache;
    tg_qkv_view view = tg_attn_growing_shape(g);

    view.q = g->q;
    view.k = cache->k + tg_kv_cache_at(cache, 0, l);
    view.v = cache->v + tg_kv_cache_at(cache, 0, l);
    view.ldq = view.H * view.D;
    view.ldk = view.ldv = cache->width;
    view.rule = tg_config_attention_rule(&g->infer.model->config, l);
    return view;
}

/* Run from one place to layer l's att, whose operation puts the new keys and values into the cache, and keep
 * the last query, which it may overwrite.  Returns the place after it. */
static size_t run_layer(tg_attn_growing *g, size_t from, size_t l)
{
    tg_infer *f = &g->infer;
    const tg_family *family = f->acts.family;
    const size_t att = tg_place(&f->acts, l, family->att);
    tg_matrix q;

    tg_infer_layers(f, from, att);
    q = tg_acts_row(&f->acts, l, family->q);
    memcpy(g->q + (g->T - 1) * q.cols, tg_floats(q) + (f->n - 1) * q.ld, q.cols * sizeof *g->q);
    tg_infer_layers(f, att, att + 1);
    return att + 1;
}

tg_status tg_attn_growing_add(tg_attn_growing *g, const int32_t *ids, size_t n,
                              const tg_attn_visitor *visitor, tg_err *err)
{
    tg_infer *f = &g->infer;
    size_t rows, place = 0;

    assert(n >= 1 && g->T + n <= g->keys);
    memcpy(g->ids + g->T, ids, n * sizeof *ids);
    g->T += n;
    rows = tg_size_max(n, tg_size_min(g->T, TG_ATTEND_FEW));
    f->cache.past = g->T - rows;
    g->scratch.panel.T = g->T;
    tg_infer_begin(f, g->ids + f->cache.past, rows);
    for (size_t l = 0; l < f->model->config.n_layer; l++) {
        const tg_qkv_view view = view_of(g, l);
        const tg_attn_filter last = {TG_ATTN_ALL, TG_ATTN_ALL, g->T - 1, TG_ATTN_ALL};

        place = run_layer(g, place, l);
        if (visitor && !tg_attn_walk_parallel(&view, l, &last, &g->scratch, visitor))
            break;
    }
    tg_infer_end(f); /* what follows the last layer's attention is not needed */
    return tg_model_check_lent(f->model, err);
}
