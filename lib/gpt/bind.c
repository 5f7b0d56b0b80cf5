#include "lib/gpt/bind.h"

static const float *weight(const tg_binding *g, tg_param_kind kind, size_t l)
{
    return tg_model_weight(g->model, kind, l);
}

/* Where the gradient of a tensor is added; NULL: it is not computed. */
static float *gradient(const tg_binding *g, tg_param_kind kind, size_t l)
{
    const tg_params *table = &g->model->table;
    const size_t i = tg_params_index(table, kind, l);

    return g->grads && i < table->n ? g->grads + table->entry[i].offset : NULL;
}

static tg_layernorm norm(const tg_binding *g, tg_param_kind w, tg_param_kind b, size_t l)
{
    const tg_config *c = &g->model->config;

    return (tg_layernorm){
        .w = weight(g, w, l),
        .dw = gradient(g, w, l),
        .b = weight(g, b, l),
        .db = gradient(g, b, l),
        .C = c->n_embd,
        .epsilon = c->layer_norm_epsilon,
    };
}

/* Its widths are those of the matrix. */
static tg_linear linear(const tg_binding *g, tg_param_kind w, tg_param_kind b, size_t l)
{
    const tg_params *table = &g->model->table;
    const size_t *shape = table->entry[tg_params_index(table, w, l)].shape;

    return (tg_linear){
        .w = weight(g, w, l),
        .dw = gradient(g, w, l),
        .b = weight(g, b, l),
        .db = gradient(g, b, l),
        .overwrite = g->overwrite,
        .in = shape[0],
        .out = shape[1],
        .packed = g->packed ? tg_packed_model_get(g->packed, g->model, w, l) : NULL,
        .scratch = g->scratch,
    };
}

tg_block tg_bind_block(const tg_binding *g, size_t l)
{
    const tg_config *c = &g->model->config;

    return (tg_block){
        .ln_1 = norm(g, TG_LN1_W, TG_LN1_B, l),
        .qkv = linear(g, TG_QKV_W, TG_QKV_B, l),
        .H = c->n_head,
        .att_proj = linear(g, TG_ATT_PROJ_W, TG_ATT_PROJ_B, l),
        .ln_2 = norm(g, TG_LN2_W, TG_LN2_B, l),
        .fc = linear(g, TG_FC_W, TG_FC_B, l),
        .activation = c->activation,
        .fc_proj = linear(g, TG_FC_PROJ_W, TG_FC_PROJ_B, l),
    };
}

tg_embedding tg_bind_embedding(const tg_binding *g)
{
    return (tg_embedding){
        .wte = weight(g, TG_WTE, 0),
        .dwte = gradient(g, TG_WTE, 0),
        .wpe = weight(g, TG_WPE, 0),
        .dwpe = gradient(g, TG_WPE, 0),
        .C = g->model->config.n_embd,
    };
}

tg_layernorm tg_bind_ln_f(const tg_binding *g)
{
    return norm(g, TG_LNF_W, TG_LNF_B, 0);
}

tg_linear tg_bind_head(const tg_binding *g)
{
    const tg_config *c = &g->model->config;
    tg_linear head = linear(g, tg_head_kind(c), TG_HEAD_B, 0);

    head.in = c->n_embd;
    head.out = c->vocab_size;
    head.transposed = true;
    return head;
}
