#include "lib/gpt/bind.h"

#include "lib/gpt/adapter.h"
#include "lib/gpt/family.h"

const float *tg_bind_weight(const tg_binding *g, tg_param_kind kind, size_t l)
{
    return tg_model_weight(g->model, kind, l);
}

float *tg_bind_gradient(const tg_binding *g, tg_param_kind kind, size_t l)
{
    const tg_params *table = &g->model->table;
    const size_t i = tg_params_index(table, kind, l);

    if (!g->grads || g->model->adapter || i == table->n || tg_model_is_frozen(g->model, i))
        return NULL;
    return g->grads + table->entry[i].offset;
}

tg_layernorm tg_bind_layernorm(const tg_binding *g, tg_param_kind w, size_t l)
{
    const tg_config *c = &g->model->config;

    return (tg_layernorm){
        .w = tg_bind_weight(g, w, l),
        .dw = tg_bind_gradient(g, w, l),
        .b = tg_bind_weight(g, w + 1, l),
        .db = tg_bind_gradient(g, w + 1, l),
        .C = c->n_embd,
        .epsilon = c->layer_norm_epsilon,
    };
}

/* The channels of a norm; 0: there is none. */
static size_t norm_width(const tg_model *m, tg_param_kind w, size_t l)
{
    const size_t i = tg_params_index(&m->table, w, l);
    const bool of_head = w == TG_Q_NORM_W || w == TG_K_NORM_W;

    if (i < m->table.n)
        return m->table.entry[i].count;
    if (!tg_config_family(&m->config)->bare_norms)
        return 0;
    return of_head ? tg_config_head_dim(&m->config) : m->config.n_embd;
}

tg_rmsnorm tg_bind_rmsnorm(const tg_binding *g, tg_param_kind w, size_t l)
{
    return (tg_rmsnorm){
        .w = tg_bind_weight(g, w, l),
        .dw = tg_bind_gradient(g, w, l),
        .C = norm_width(g->model, w, l),
        .offset = (float)g->model->config.norm_offset,
        .epsilon = g->model->config.layer_norm_epsilon,
    };
}

/* The adapter's change to a matrix; zeros: there is none, or no gradient is wanted. */
static tg_low_rank low_rank(const tg_binding *g, tg_param_kind w, size_t l)
{
    const tg_adapter *a = g->model->adapter;
    const tg_param *p = g->grads && a ? tg_adapter_of(a, w, l) : NULL;

    if (!p)
        return (tg_low_rank){0};
    return (tg_low_rank){
        .a = a->params + p[0].offset,
        .b = a->params + p[1].offset,
        .da = g->grads + p[0].offset,
        .db = g->grads + p[1].offset,
        .scale = (float)(a->weight * tg_adapter_scale(&a->shape)),
        .R = a->shape.rank,
        .work = g->low_rank_work,
    };
}

/* A matrix for these products, if it is bf16: as it is stored, or, for products that round, rounded already.
 */
static const tg_bf16 *halves_of(const tg_binding *g, size_t i)
{
    const tg_bf16 *stored = tg_model_values16(g->model, i);

    return stored || g->scratch->precision != TG_PRECISION_BF16 ? stored : tg_model_rounded16(g->model, i);
}

/* The rows of a matrix that is the head, where they are read so; products in double need all of it. */
static tg_row_source rows_of(const tg_binding *g, tg_param_kind w)
{
    const bool split = w == tg_head_kind(&g->model->config) && !g->packed && g->scratch;

    return split ? tg_model_head_rows(g->model) : (tg_row_source){0};
}

/* Its widths are those of the matrix.  A packed one is not read; bf16 is not for products in double. */
static tg_linear linear(const tg_binding *g, tg_param_kind w, tg_param_kind b, size_t l)
{
    const size_t i = tg_params_index(&g->model->table, w, l);
    const tg_param *p = &g->model->table.entry[i];
    const tg_row_source rows = rows_of(g, w);
    const bool read = !g->packed && !rows.read, in_double = !g->scratch;
    const tg_bf16 *halves = read && !in_double ? halves_of(g, i) : NULL;

    return (tg_linear){
        .w = !read    ? NULL
             : halves ? (const void *)halves
                      : tg_bind_weight(g, w, l),
        .w_type = halves ? TG_TYPE_BF16 : TG_TYPE_FLOAT,
        .dw = tg_bind_gradient(g, w, l),
        .b = tg_bind_weight(g, b, l),
        .db = tg_bind_gradient(g, b, l),
        .overwrite = g->overwrite,
        .in = p->shape[p->transposed],
        .out = p->shape[!p->transposed],
        .transposed = p->transposed,
        .rows = rows,
        .packed = g->packed ? &g->packed->matrix[i] : NULL,
        .scratch = g->scratch,
        .low_rank = low_rank(g, w, l),
    };
}

tg_linear tg_bind_linear(const tg_binding *g, tg_param_kind w, size_t l)
{
    return linear(g, w, w + 1, l);
}

tg_embedding tg_bind_embedding(const tg_binding *g, const int32_t *ids, size_t n)
{
    const tg_model *m = g->model;

    return (tg_embedding){
        .wte = m->halves ? NULL : tg_model_embedding(m, ids, n),
        .wte16 = m->halves ? tg_model_values16(m, tg_params_index(&m->table, TG_WTE, 0)) : NULL,
        .dwte = tg_bind_gradient(g, TG_WTE, 0),
        .wpe = tg_bind_weight(g, TG_WPE, 0),
        .dwpe = tg_bind_gradient(g, TG_WPE, 0),
        .C = m->config.n_embd,
        .scale = tg_config_has(&m->config, TG_CONFIG_EMBED_SCALE) ? (float)m->config.embed_scale : 1,
    };
}

tg_linear tg_bind_head(const tg_binding *g)
{
    return linear(g, tg_head_kind(&g->model->config), TG_HEAD_B, 0);
}
