#include "lib/train/average.h"

#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/threads.h"
#include "lib/train/state_arrays.h"

#define PREFIX "opt/a/"

size_t tg_average_steps(const tg_settings *s, size_t step)
{
    const size_t before = s->steps - s->average;

    return step > before ? step - before : 0;
}

bool tg_average_is_unfinished(const tg_settings *s, size_t step)
{
    return step < s->steps && tg_average_steps(s, step) > 0;
}

/* ---- in memory */

struct placing {
    tg_average *a;
    size_t n;
};

static void place(tg_arena *arena, void *context)
{
    const struct placing *p = context;

    p->a->mean = tg_arena_take(arena, p->n, sizeof(float));
}

tg_status tg_average_build(tg_average *a, const tg_params *table, tg_err *err)
{
    tg_average_free(a);
    return tg_arena_build(&a->memory, place, &(struct placing){a, table->floats}, err);
}

void tg_average_free(tg_average *a)
{
    tg_arena_free(&a->memory);
    *a = (tg_average){0};
}

struct addition {
    float *mean;
    const float *w;
    float share; /* 1 / k */
};

static void add_chunk(void *context, size_t begin, size_t end)
{
    const struct addition *d = context;

    if (d->share == 1) {
        memcpy(d->mean + begin, d->w + begin, (end - begin) * sizeof *d->mean);
        return;
    }
    for (size_t i = begin; i < end; i++)
        d->mean[i] += (d->w[i] - d->mean[i]) * d->share;
}

void tg_average_add(const tg_average *a, const float *w, size_t begin, size_t end, size_t k)
{
    tg_threads_run(end - begin, TG_THREADS_ELEMENTS, add_chunk,
                   &(struct addition){a->mean + begin, w + begin, 1.0f / (float)k});
}

/* ---- in an archive */

tg_status tg_average_take(tg_average *a, const tg_params *table, tg_archive_reader *r, const tg_array *x,
                          bool *taken, tg_err *err)
{
    const tg_param *p;
    float *to;
    tg_status status = tg_state_array_find(&p, table, PREFIX, x, err);

    if (status || !p)
        return status;
    if (!a->mean && (status = tg_average_build(a, table, err)))
        return status;
    *taken = true;
    a->read++;
    to = a->mean + p->offset;
    status = tg_archive_read(r, to, x->bytes, err);
    return status ? status : tg_check_finite(x->name, to, x->count, err);
}

tg_status tg_average_check(const tg_average *a, const tg_params *table, const tg_settings *settings,
                           size_t step, tg_err *err)
{
    const size_t want = tg_average_is_unfinished(settings, step) ? table->n : 0;

    if (a->read == want)
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "the mean of the last %zu of %zu steps has %zu arrays at step %zu, expected %zu",
                   settings->average, settings->steps, a->read, step, want);
}

static tg_state_arrays arrays_of(const tg_average *a)
{
    return (tg_state_arrays){.prefix = PREFIX, .flat = {.floats = a->mean}};
}

tg_status tg_average_check_finite(const tg_average *a, const tg_params *table, tg_err *err)
{
    const tg_state_arrays s = arrays_of(a);

    return tg_state_arrays_check_finite(&s, table, err);
}

tg_status tg_average_put(const tg_average *a, const tg_params *table, tg_archive_writer *w, tg_err *err)
{
    const tg_state_arrays s = arrays_of(a);

    return tg_state_arrays_put(&s, table, w, err);
}
