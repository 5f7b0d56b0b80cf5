#include "lib/attn/dump_check.h"

#include <math.h>

static void add(tg_dump_difference *sum, const tg_dump_difference *d)
{
    if (d->count > 0 && (sum->count == 0 || d->first < sum->first)) {
        sum->first = d->first;
        sum->dumped = d->dumped;
        sum->computed = d->computed;
    }
    sum->count += d->count;
    sum->largest = d->largest > sum->largest ? d->largest : sum->largest;
}

static void compare(tg_dump_difference *d, size_t offset, float dumped, float computed, double tolerance)
{
    const double by = fabs((double)dumped - (double)computed);

    if (dumped != computed && !(by <= tolerance * fmax(1, fabs((double)computed))))
        add(d, &(tg_dump_difference){1, offset, dumped, computed, by});
}

/* ---- scores and probabilities, by all threads */

struct square {
    const float *dumped;
    float masked;
    bool probs;
    double tolerance;
    tg_dump_difference *difference;
};

/* A row that differs is rare, or else there is no hurry: one thread at a time writes it down. */
static void compare_row(void *context, const tg_attn_row *row, size_t thread)
{
    const struct square *s = context;
    const size_t at = tg_attn_offset(row->view, row->b, row->h, row->i, 0);
    const double *computed = s->probs ? row->probs : row->scores;
    tg_dump_difference d = {0};

    (void)thread;
    for (size_t j = 0; j < row->view->T; j++)
        compare(&d, at + j, s->dumped[at + j], j <= row->i ? (float)computed[j] : s->masked, s->tolerance);
    if (d.count > 0) {
        #pragma omp critical(tg_dump_difference)
        add(s->difference, &d);
    }
}

static void compare_square(tg_dump_difference *d, const tg_dump *dump, const float *dumped,
                           tg_attn_stage stage, const tg_attn_layer *layer, tg_attn_stages *stages,
                           double tolerance)
{
    const bool probs = stage == TG_ATTN_PROBS;
    struct square s = {dumped, probs ? 0.0f : tg_attn_mask_value(dump->mask), probs, tolerance, d};
    const tg_attn_team team = {.row = compare_row, .context = &s};

    (void)tg_attn_walk_team(&layer->view, 0, &TG_ATTN_PICK_ALL, &stages->work, &team);
}

/* ---- */

void tg_dump_compare(tg_dump_difference *d, const tg_dump *dump, const tg_dump_layer *dumped,
                     tg_attn_stage stage, const tg_attn_layer *layer, tg_attn_stages *stages,
                     double tolerance)
{
    const float *data = dumped->data[stage];
    tg_attn_shape shape;

    *d = (tg_dump_difference){0};
    tg_attn_stage_shape(&shape, stage, &layer->view);
    if (tg_attn_stage_square(stage)) {
        compare_square(d, dump, data, stage, layer, stages, tolerance);
        return;
    }
    tg_attn_stages_fill(stages, stage, layer, &TG_ATTN_PICK_ALL);
    for (size_t i = 0; i < tg_attn_shape_count(&shape); i++)
        compare(d, i, data[i], (float)stages->values[i], tolerance);
}
