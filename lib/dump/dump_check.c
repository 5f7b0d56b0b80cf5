#include "lib/dump/dump_check.h"

#include <math.h>
#include <pthread.h>

static void add(tg_dump_difference *sum, const tg_dump_difference *d)
{
    if (sum->count == 0 || d->first < sum->first) {
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

struct square {
    const float *dumped;
    float masked;
    double tolerance;
    pthread_mutex_t *lock; /* of the difference: if many rows differ, speed does not matter */
    tg_dump_difference *difference;
};

static void compare_row(void *context, size_t offset, const double *computed, size_t i, size_t T)
{
    const struct square *s = context;
    const float *dumped = s->dumped + offset;
    tg_dump_difference d = {0};

    for (size_t j = 0; j < T; j++)
        compare(&d, offset + j, dumped[j], j <= i ? (float)computed[j] : s->masked, s->tolerance);
    if (d.count > 0) {
        pthread_mutex_lock(s->lock);
        add(s->difference, &d);
        pthread_mutex_unlock(s->lock);
    }
}

static void compare_values(tg_dump_difference *d, const float *dumped, const double *computed, size_t n,
                           double tolerance)
{
    for (size_t i = 0; i < n; i++)
        compare(d, i, dumped[i], (float)computed[i], tolerance);
}

void tg_dump_compare(tg_dump_difference *d, const tg_dump *dump, const tg_dump_layer *dumped,
                     tg_attn_stage stage, const tg_attn_layer *layer, tg_stage_scratch *scratch,
                     double tolerance)
{
    const float *data = dumped->data[stage];
    tg_attn_shape shape;

    *d = (tg_dump_difference){0};
    if (tg_attn_stage_square(stage)) {
        pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        struct square s = {data, tg_stage_masked(stage, dump->mask), tolerance, &lock, d};

        tg_stage_walk_square(scratch, stage, layer, compare_row, &s);
        pthread_mutex_destroy(&lock);
        return;
    }
    tg_attn_stage_shape(&shape, stage, &layer->view);
    tg_stage_fill(scratch, stage, layer, &TG_ATTN_KEEP_ALL);
    compare_values(d, data, scratch->values, tg_attn_shape_count(&shape), tolerance);
}
