#include "lib/patch/backward.h"

#include "lib/base/size.h"
#include "lib/gpt/head.h"
#include "lib/gpt/layers.h"

void tg_patch_backward_place(tg_arena *arena, tg_patch_backward *b, const tg_model *model, size_t T)
{
    const tg_config *c = &model->config;
    const tg_binding bound = {.model = model};
    const tg_acts_size size = {
        .B = 1, .T = T, .kind = TG_ACTS_KEPT, .between = TG_TYPE_DOUBLE, .type = TG_TYPE_DOUBLE};

    tg_acts_place(arena, &b->acts, &bound, &size);
    b->logits = tg_arena_take(arena, c->vocab_size, sizeof *b->logits);
    b->dlogits = tg_arena_take(arena, c->vocab_size, sizeof *b->dlogits);
}

static void set_x(const tg_patch_backward *b, const tg_patch_kept *base, const tg_patch_kept *source,
                  double fraction)
{
    double *x = tg_doubles(tg_acts_row(&b->acts, 0, TG_ACT_X));
    const float *from = tg_patch_kept_at(base, TG_PATCH_X, 0, 0);
    const float *to = tg_patch_kept_at(source, TG_PATCH_X, 0, 0);

    for (size_t i = 0; i < base->T * b->acts.C; i++)
        x[i] = (double)from[i] + fraction * ((double)to[i] - (double)from[i]);
}

void tg_patch_backward_begin(tg_patch_backward *b, const tg_patch_kept *base, const tg_patch_kept *source,
                             double fraction, const tg_patch_metric *metric)
{
    tg_acts *acts = &b->acts;
    const tg_matrix logits = tg_matrix_of(b->logits, TG_TYPE_DOUBLE, metric->V);
    const tg_matrix dlogits = tg_matrix_of(b->dlogits, TG_TYPE_DOUBLE, metric->V);

    acts->T = base->T;
    set_x(b, base, source, fraction);
    (void)tg_layers_forward(acts, 0, tg_layers_end(acts), NULL);
    tg_head_forward(acts, logits, tg_matrix_from(acts->x, acts->T - 1), 1);
    tg_patch_measure_backward(b->dlogits, metric, b->logits);
    tg_head_backward(acts, dlogits, logits, acts->T - 1, 1);
}

size_t tg_patch_backward_runs(size_t steps)
{
    return tg_size_max(steps, 1);
}

double tg_patch_backward_fraction(size_t steps, size_t run)
{
    return steps == 0 ? 0 : ((double)run + 0.5) / (double)steps;
}
