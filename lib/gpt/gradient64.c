#include "lib/gpt/gradient64.h"

#include <string.h>

#include "lib/base/convert.h"
#include "lib/gpt/family.h"
#include "lib/gpt/head.h"
#include "lib/gpt/layers.h"
#include "lib/nn/ref/ref.h"

void tg_gradient64_place(tg_arena *arena, tg_gradient64 *g, const tg_model *model, size_t layer, size_t T)
{
    const tg_config *c = &model->config;
    const tg_binding bound = {.model = model};
    const tg_acts_size size = {.B = 1,
                               .T = T,
                               .layer = layer,
                               .kind = TG_ACTS_KEPT,
                               .between = TG_TYPE_DOUBLE,
                               .type = TG_TYPE_DOUBLE};

    *g = (tg_gradient64){.model = model, .layer = layer, .T = T};
    tg_acts_place(arena, &g->acts, &bound, &size);
    g->logits = tg_arena_take(arena, c->vocab_size, sizeof *g->logits);
    g->dlogits = tg_arena_take(arena, c->vocab_size, sizeof *g->dlogits);
    g->dout = g->acts.scratch[TG_SCRATCH_DX].data;
    g->datt = tg_acts_gradient(&g->acts, g->acts.family->att).data;
}

/* Where what follows the layer's attention begins. */
static size_t rest(const tg_gradient64 *g)
{
    return tg_place(&g->acts, g->layer, g->acts.family->att) + 1;
}

/* Copy a row of the layer. */
static void set_row(tg_gradient64 *g, size_t row, tg_matrix from)
{
    const tg_matrix to = tg_acts_row(&g->acts, g->layer, row);

    for (size_t t = 0; t < g->T; t++)
        tg_double_from_float(tg_doubles(to) + t * to.ld, tg_floats(from) + t * from.ld, to.cols);
}

void tg_gradient64_begin(tg_gradient64 *g, tg_matrix x, const tg_qkv *qkv)
{
    const tg_family *family = g->acts.family;

    set_row(g, TG_ACT_X, x);
    set_row(g, family->q, qkv->q);
    set_row(g, family->k, qkv->k);
    set_row(g, family->v, qkv->v);
    (void)tg_layers_forward(&g->acts, rest(g) - 1, rest(g), NULL);
}

static tg_matrix row_of_logits(const tg_gradient64 *g, double *row)
{
    return tg_matrix_of(row, TG_TYPE_DOUBLE, g->model->config.vocab_size);
}

double tg_gradient64_loss(tg_gradient64 *g, int32_t target)
{
    tg_acts *a = &g->acts;

    g->target = target;
    (void)tg_layers_forward(a, rest(g), tg_layers_end(a), NULL);
    /* the last token alone predicts */
    tg_head_forward(a, row_of_logits(g, g->logits), tg_matrix_from(a->x, g->T - 1), 1);
    tg_crossentropy_forward_ref64(&g->loss, g->logits, &g->target, 1, g->model->config.vocab_size);
    return g->loss;
}

void tg_gradient64_run(tg_gradient64 *g)
{
    const double one = 1;
    const size_t V = g->model->config.vocab_size;
    tg_acts *a = &g->acts;

    memset(g->dlogits, 0, V * sizeof *g->dlogits);
    tg_crossentropy_backward_ref64(g->dlogits, &one, g->logits, &g->target, 1, V);
    tg_head_backward(a, row_of_logits(g, g->dlogits), row_of_logits(g, g->logits), g->T - 1, 1);
    (void)tg_layers_backward(a, rest(g), tg_layers_end(a), NULL);
}
