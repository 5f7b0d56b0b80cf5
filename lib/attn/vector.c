#include "lib/attn/vector.h"

#include "lib/base/convert.h"
#include "lib/gpt/rope.h"

static double *take(tg_arena *arena, size_t n)
{
    return tg_arena_take(arena, n, sizeof(double));
}

void tg_attn_vector_place(tg_arena *arena, tg_attn_vector *v, size_t D)
{
    *v = (tg_attn_vector){.D = D,
                          .projected = take(arena, D),
                          .gain = take(arena, D),
                          .normed = take(arena, D),
                          .angle = take(arena, D),
                          .cosines = take(arena, D),
                          .sines = take(arena, D),
                          .made = take(arena, D),
                          .dnormed = take(arena, D),
                          .dprojected = take(arena, D)};
}

static double gain_of(const tg_rmsnorm *norm, size_t c)
{
    return norm->w ? (double)(norm->offset + norm->w[c]) : 1;
}

static void fill_norm(tg_attn_vector *v, const tg_attn_steps *s)
{
    const size_t cols = v->at.heads * v->D, first = v->at.head * v->D;

    v->is_normed = s->normed != NULL;
    v->width = v->is_normed ? s->norm.C : v->D;
    v->rstd = v->is_normed ? (double)s->rstd[(v->at.t * cols + first) / v->width] : 1;
    for (size_t d = 0; d < v->D; d++)
        v->gain[d] = v->is_normed ? gain_of(&s->norm, (first + d) % v->width) : 1;
    tg_double_from_float(v->normed, (v->is_normed ? s->normed : s->projected) + v->at.t * cols + first, v->D);
}

double tg_attn_frequency(const tg_attn_layers *layers, size_t layer, const tg_attn_steps *s, size_t m)
{
    const tg_config *config;

    if (s->frequency)
        return s->frequency[m];
    config = &layers->model->config;
    return tg_rope_frequency(config, tg_rope_is_local(config, layer), m);
}

static void fill_rotation(tg_attn_vector *v, const tg_attn_layers *layers, size_t layer,
                          const tg_attn_steps *s)
{
    const tg_matrix angles = s->angles;

    v->pairs = angles.data ? angles.cols / 2 : 0;
    for (size_t m = 0; m < v->pairs; m++) {
        const float *cosine = tg_floats(angles) + v->at.t * angles.ld + m;

        v->angle[m] = (double)v->at.t * tg_attn_frequency(layers, layer, s, m);
        v->cosines[m] = (double)cosine[0];
        v->sines[m] = (double)cosine[v->pairs];
    }
}

void tg_attn_vector_fill(tg_attn_vector *v, const tg_attn_layers *layers, const tg_attn_layer *layer,
                         const tg_attn_steps *steps, const float *row, tg_attn_vector_at at)
{
    v->at = at;
    tg_double_from_float(v->projected, steps->projected + (at.t * at.heads + at.head) * v->D, v->D);
    tg_double_from_float(v->made, row + at.head * v->D, v->D);
    fill_norm(v, steps);
    fill_rotation(v, layers, layer->number, steps);
}

/* dnormed = dmade, rotated back. */
static void rotate_back(tg_attn_vector *v, const double *dmade)
{
    const size_t n = v->pairs;

    for (size_t d = 2 * n; d < v->D; d++)
        v->dnormed[d] = dmade[d];
    for (size_t m = 0; m < n; m++) {
        v->dnormed[m] = dmade[m] * v->cosines[m] + dmade[m + n] * v->sines[m];
        v->dnormed[m + n] = dmade[m + n] * v->cosines[m] - dmade[m] * v->sines[m];
    }
}

void tg_attn_vector_backward(tg_attn_vector *v, const double *dmade)
{
    rotate_back(v, dmade);
    v->mean = 0;
    for (size_t d = 0; d < v->D; d++)
        v->mean += v->dnormed[d] * v->gain[d] * (v->projected[d] * v->rstd) / (double)v->width;
    for (size_t d = 0; d < v->D; d++) {
        const double norm = v->projected[d] * v->rstd;

        v->dprojected[d] =
            v->is_normed ? v->rstd * (v->dnormed[d] * v->gain[d] - norm * v->mean) : v->dnormed[d];
    }
}
