#include "lib/patch/attribution.h"

#include <string.h>

#include "lib/base/size.h"
#include "lib/gpt/family.h"
#include "lib/gpt/layers.h"
#include "lib/gpt/sublayer.h"

static size_t heads_of(const tg_patch_attribution *a, tg_patch_site site)
{
    return tg_size_max(tg_patch_heads(&a->run.acts, site), 1);
}

static void place_attribution(tg_arena *arena, void *context)
{
    tg_patch_attribution *a = context;
    const tg_config *c = &a->model->config;

    tg_patch_backward_place(arena, &a->run, a->model, a->capacity);
    a->dunits = tg_matrix_place(arena, TG_TYPE_DOUBLE, a->capacity, tg_dim_size(TG_DIM_INNER, c));
    for (tg_patch_site s = 0; s < TG_PATCH_SITES; s++)
        a->change[s] =
            tg_arena_take_rows(arena, c->n_layer * a->capacity, heads_of(a, s), sizeof *a->change[s]);
}

tg_status tg_patch_attribution_open(tg_patch_attribution *a, const tg_model *model, size_t T, tg_err *err)
{
    *a = (tg_patch_attribution){
        .model = model, .capacity = T, .normed = tg_model_weight(model, TG_DOWN_NORM_W, 0)};
    return tg_arena_build(&a->arena, place_attribution, a, err);
}

void tg_patch_attribution_close(tg_patch_attribution *a)
{
    tg_arena_free(&a->arena);
}

/* ---- one site of a layer */

static double *change_at(const tg_patch_attribution *a, tg_patch_site site, size_t layer, size_t t)
{
    return a->change[site] + (layer * a->capacity + t) * heads_of(a, site);
}

/* Pattern replaces z of the base run. */
static const float *base_at(const tg_patch_attribution *a, tg_patch_site site, size_t layer, size_t t)
{
    return tg_patch_kept_at(a->base, site == TG_PATCH_PATTERN ? TG_PATCH_Z : site, layer, t);
}

static void attribute(const tg_patch_attribution *a, tg_patch_site site, size_t layer, tg_matrix gradient)
{
    const size_t heads = heads_of(a, site), D = gradient.cols / heads;

    for (size_t t = 0; t < a->base->T; t++) {
        const double *d = tg_doubles(gradient) + t * gradient.ld;
        const float *base = base_at(a, site, layer, t), *source = tg_patch_kept_at(a->source, site, layer, t);

        for (size_t h = 0; h < heads; h++) {
            double sum = 0;

            for (size_t i = h * D; i < (h + 1) * D; i++)
                sum += ((double)source[i] - (double)base[i]) * d[i];
            change_at(a, site, layer, t)[h] += a->weight * sum;
        }
    }
}

/* ---- backward */

/* A tap: after attention's operation the gradients of what it reads and computes are there; after that of the
 * units, theirs. */
static bool take(void *context, tg_acts *acts, size_t layer, size_t row)
{
    static const tg_patch_site sites[] = {TG_PATCH_Q, TG_PATCH_K,   TG_PATCH_V,
                                          TG_PATCH_Z, TG_PATCH_ATT, TG_PATCH_PATTERN};
    const tg_patch_attribution *a = context;

    for (size_t i = 0; row == acts->family->att && i < sizeof sites / sizeof *sites; i++)
        attribute(a, sites[i], layer, tg_acts_gradient(acts, tg_patch_row(acts, sites[i])));
    if (row == acts->family->units && a->normed)
        attribute(a, TG_PATCH_MLP, layer, tg_acts_gradient(acts, row));
    return true;
}

/* What the MLP adds has the stream's gradient, unless it is normed; a page may go from there through the last
 * layer and the activation in one operation, which the tap does not see. */
static void take_units(tg_patch_attribution *a, size_t layer)
{
    tg_sublayer mlp;
    const tg_matrix none = {0};

    if (a->normed)
        return;
    mlp = tg_sublayer_of(&a->run.acts, TG_SUBLAYER_MLP, layer);
    tg_linear_backward(a->dunits, tg_acts_gradient(&a->run.acts, TG_ACT_X), none, &mlp.map, a->run.acts.T);
    attribute(a, TG_PATCH_MLP, layer, a->dunits);
}

static void backward(tg_patch_attribution *a)
{
    tg_acts *acts = &a->run.acts;

    for (size_t l = acts->L; l-- > 0;) {
        take_units(a, l);
        (void)tg_layers_backward(acts, tg_place(acts, l, 0), tg_place(acts, l + 1, 0), &(tg_tap){take, a});
        attribute(a, TG_PATCH_X, l, tg_acts_gradient(acts, TG_ACT_X));
    }
}

/* ---- a run */

static void clear(tg_patch_attribution *a)
{
    for (tg_patch_site site = 0; site < TG_PATCH_SITES; site++)
        memset(a->change[site], 0, a->run.acts.L * a->capacity * heads_of(a, site) * sizeof *a->change[site]);
}

void tg_patch_attribution_run(tg_patch_attribution *a, const tg_patch_kept *base, const tg_patch_kept *source,
                              const tg_patch_metric *metric, size_t steps, const tg_watch *watch)
{
    const size_t runs = tg_patch_backward_runs(steps);

    a->base = base;
    a->source = source;
    a->weight = 1 / (double)runs;
    clear(a);
    for (size_t i = 0; i < runs; i++) {
        tg_patch_backward_begin(&a->run, base, source, tg_patch_backward_fraction(steps, i), metric);
        backward(a);
        (void)tg_watch_report(watch, (double)(i + 1) / (double)runs);
    }
}

double tg_patch_attribution_of(const tg_patch_attribution *a, const tg_patch_edit *e)
{
    double sum = 0;

    for (size_t t = 0; t < a->base->T; t++)
        for (size_t h = 0; h < heads_of(a, e->site); h++)
            if ((e->position == TG_PATCH_ALL || e->position == t) &&
                (e->head == TG_PATCH_ALL || e->head == h))
                sum += change_at(a, e->site, e->layer, t)[h];
    return sum;
}
