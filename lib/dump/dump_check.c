#include "lib/dump/dump_check.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "lib/nn/ref/ref.h"

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

/* They may differ by tolerance * max(1, |computed|), and in any case by `least`. */
static void compare(tg_dump_difference *d, size_t offset, double dumped, double computed, double tolerance,
                    double least)
{
    const double by = fabs(dumped - computed);

    if (!(dumped <= computed && dumped >= computed) &&
        !(by <= fmax(least, tolerance * fmax(1, fabs(computed)))))
        add(d, &(tg_dump_difference){1, offset, dumped, computed, by});
}

struct comparison {
    const float *dumped;
    float masked;
    double tolerance;
    pthread_mutex_t lock; /* of the difference: if many rows differ, speed does not matter */
    tg_dump_difference *difference;
};

static void compare_row(void *context, const tg_stage_part *part)
{
    struct comparison *c = context;
    tg_dump_difference d = {0};

    for (size_t j = 0; j < part->T; j++) {
        const bool seen = j >= part->first && j <= part->last;

        compare(&d, part->offset + j, (double)c->dumped[part->offset + j],
                (double)(seen ? (float)part->numbers[j] : c->masked), c->tolerance, 0);
    }
    if (d.count > 0) {
        pthread_mutex_lock(&c->lock);
        add(c->difference, &d);
        pthread_mutex_unlock(&c->lock);
    }
}

void tg_dump_compare(tg_dump_difference *d, const tg_dump *dump, const tg_dump_layer *dumped,
                     tg_attn_stage stage, const tg_attn_layer *layer, tg_stage_scratch *scratch,
                     double tolerance)
{
    struct comparison c = {dumped->data[stage], tg_stage_masked(stage, dump->mask), tolerance,
                           PTHREAD_MUTEX_INITIALIZER, d};

    *d = (tg_dump_difference){0};
    tg_stage_walk(scratch, stage, layer, compare_row, &c);
    pthread_mutex_destroy(&c.lock);
}

/* Where an element [b,h,t,d] of a shape is in [B,T,H,D]. */
static size_t bthd_offset(const tg_attn_shape *s, size_t offset)
{
    const size_t heads = s->size[1], T = s->size[2], D = s->size[3];
    const size_t d = offset % D, t = offset / D % T, h = offset / D / T % heads, b = offset / D / T / heads;

    return ((b * T + t) * heads + h) * D + d;
}

static bool is_masked(tg_attn_stage stage, double x)
{
    return stage == TG_ATTN_SCORES && x <= TG_MASKED;
}

void tg_dump_compare_numbers(tg_dump_difference *d, const tg_dump *dump, const tg_dump_layer *dumped,
                             tg_attn_stage stage, const double *numbers, double tolerance, double of_largest)
{
    const tg_qkv_view view = tg_dump_shape(dump);
    const bool moved =
        dump->layout == TG_ATTN_BHTD && !tg_attn_stage_whole(stage) && !tg_attn_stage_square(stage);
    const float *data = dumped->data[stage];
    double largest = 0;
    tg_attn_shape shape;
    size_t count;

    *d = (tg_dump_difference){0};
    tg_attn_stage_shape(&shape, stage, &view);
    count = tg_attn_shape_count(&shape);
    for (size_t n = 0; n < count; n++)
        if (!is_masked(stage, numbers[n]))
            largest = fmax(largest, fabs(numbers[n]));
    for (size_t n = 0; n < count; n++) {
        const double x = numbers[moved ? bthd_offset(&shape, n) : n];
        const float computed = is_masked(stage, x) ? tg_attn_mask_value(dump->mask) : (float)x;

        compare(d, n, (double)data[n], (double)computed, tolerance, of_largest * largest);
    }
}

static double number_at(const void *data, tg_dtype type, size_t n)
{
    if (type.kind == 'i')
        return (double)((const int64_t *)data)[n];
    return type.size == 4 ? (double)((const float *)data)[n] : ((const double *)data)[n];
}

void tg_dump_compare_extra(tg_dump_difference *d, const tg_dump_extra_array *dumped,
                           const tg_extras_made *made, double tolerance)
{
    *d = (tg_dump_difference){0};
    for (size_t n = 0; n < made->count; n++) {
        const char *text = (const char *)dumped->data + n * dumped->size;
        const char *computed = (const char *)made->data + n * made->type.size;

        if (made->type.kind != 'S')
            compare(d, n, number_at(dumped->data, made->type, n), number_at(made->data, made->type, n),
                    tolerance, 0);
        else if (strnlen(text, dumped->size) != strnlen(computed, made->type.size) ||
                 memcmp(text, computed, strnlen(text, dumped->size)) != 0)
            add(d, &(tg_dump_difference){.count = 1, .first = n});
    }
}
