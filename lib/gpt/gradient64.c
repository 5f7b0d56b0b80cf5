#include "lib/gpt/gradient64.h"

#include <string.h>

#include "lib/base/convert.h"
#include "lib/gpt/family.h"
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

    *g = (tg_gradient64){.model = model, .steps = tg_config_family(c)->steps, .layer = layer, .T = T};
    tg_acts_place(arena, &g->acts, &bound, &size);
    tg_op_attention_place(arena, &g->acts.attention, size.type, 1, T, c->n_head, c->n_embd / c->n_head);
    g->logits = tg_arena_take(arena, c->vocab_size, sizeof *g->logits);
    g->dlogits = tg_arena_take(arena, c->vocab_size, sizeof *g->dlogits);
    g->dout = tg_doubles(g->acts.dx);
    g->datt = tg_doubles(g->acts.datt);
}

/* Where what follows the layer's attention begins. */
static size_t rest(const tg_gradient64 *g)
{
    return tg_place(g->layer, TG_STEP_X2);
}

void tg_gradient64_begin(tg_gradient64 *g, const float *x, const float *qkv)
{
    const tg_matrix *s = g->acts.block[g->layer];
    const size_t n = g->T * g->acts.C;

    tg_double_from_float(tg_doubles(s[TG_ACT_X]), x, n);
    tg_double_from_float(tg_doubles(s[TG_ACT_QKV]), qkv, 3 * n);
    (void)tg_layers_forward(g->steps, &g->acts, tg_place(g->layer, TG_STEP_ATT), rest(g), NULL);
}

static tg_matrix row_of_logits(const tg_gradient64 *g, double *row)
{
    return (tg_matrix){row, TG_TYPE_DOUBLE, g->model->config.vocab_size};
}

double tg_gradient64_loss(tg_gradient64 *g, int32_t target)
{
    tg_acts *a = &g->acts;

    g->target = target;
    (void)tg_layers_forward(g->steps, a, rest(g), tg_layers_end(a), NULL);
    g->steps->logits(a, row_of_logits(g, g->logits), g->T - 1, 1); /* the last token alone predicts */
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
    g->steps->logits_backward(a, row_of_logits(g, g->dlogits), g->T - 1, 1);
    (void)tg_layers_backward(g->steps, a, rest(g), tg_layers_end(a), NULL);
}
