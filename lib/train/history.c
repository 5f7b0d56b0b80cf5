#include "lib/train/history.h"

#include <math.h>
#include <string.h>

#define STEPS "train/history/step"
#define LOSSES "train/history/loss"

/* One step in how many is kept: a power of two.  If only one is there, none has been dropped yet. */
static int64_t stride(const tg_history *h)
{
    return h->n_steps > 1 ? h->step[1] - h->step[0] : 1;
}

/* Drop every second one. */
static void thin(tg_history *h)
{
    const int64_t every = 2 * stride(h);
    size_t n = 0;

    for (size_t i = 0; i < h->n_steps; i++) {
        if (h->step[i] % every != 0)
            continue;
        h->step[n] = h->step[i];
        h->loss[n++] = h->loss[i];
    }
    h->n_steps = h->n_losses = n;
}

void tg_history_add(tg_history *h, size_t step, double loss)
{
    if ((int64_t)step % stride(h) != 0)
        return;
    if (h->n_steps == TG_HISTORY_MAX)
        thin(h);
    if ((int64_t)step % stride(h) != 0)
        return;
    h->step[h->n_steps++] = (int64_t)step;
    h->loss[h->n_losses++] = loss;
}

double tg_history_mean(const tg_history *h, size_t n)
{
    double sum = 0;

    if (h->n_losses < n)
        return nan("");
    for (size_t i = h->n_losses - n; i < h->n_losses; i++)
        sum += h->loss[i];
    return sum / (double)n;
}

tg_status tg_history_put(const tg_history *h, tg_archive_writer *w, tg_err *err)
{
    tg_status status;

    if (h->n_steps == 0)
        return TG_OK;
    if ((status = tg_archive_put(w, STEPS, TG_I64, 1, &h->n_steps, h->step, err)))
        return status;
    return tg_archive_put(w, LOSSES, TG_F64, 1, &h->n_losses, h->loss, err);
}

/* Both are of 8 bytes. */
static tg_status take_numbers(void *out, size_t *n, tg_dtype type, tg_archive_reader *r, const tg_array *a,
                              tg_err *err)
{
    if (a->ndim != 1 || a->count < 1 || a->count > TG_HISTORY_MAX || !tg_dtype_equal(a->dtype, type))
        return tg_fail(err, TG_EDATA, "%s has %zu elements of type %c%zu, expected 1 to %d of type %c%zu",
                       a->name, a->count, a->dtype.kind, a->dtype.size, TG_HISTORY_MAX, type.kind, type.size);
    *n = a->count;
    return tg_archive_read(r, out, a->bytes, err);
}

tg_status tg_history_take(tg_history *h, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err)
{
    const bool steps = strcmp(a->name, STEPS) == 0;

    *taken = steps || strcmp(a->name, LOSSES) == 0;
    if (!*taken)
        return TG_OK;
    return steps ? take_numbers(h->step, &h->n_steps, TG_I64, r, a, err)
                 : take_numbers(h->loss, &h->n_losses, TG_F64, r, a, err);
}

/* All multiples of a power of two, in a row, none beyond the run's. */
static bool can_be(const tg_history *h, size_t step)
{
    int64_t every;

    for (size_t i = 0; i < h->n_steps; i++)
        if (h->step[i] < 1 || (uint64_t)h->step[i] > step)
            return false;
    every = stride(h);
    if (every < 1 || (every & (every - 1)) != 0)
        return false;
    for (size_t i = 0; i < h->n_steps; i++)
        if (h->step[i] % every != 0 || h->step[i] / every - h->step[0] / every != (int64_t)i)
            return false;
    return true;
}

tg_status tg_history_check(const tg_history *h, size_t step, tg_err *err)
{
    if (h->n_steps != h->n_losses)
        return tg_fail(err, TG_EDATA, STEPS " has %zu elements, " LOSSES " %zu: expected as many", h->n_steps,
                       h->n_losses);
    if (!can_be(h, step))
        return tg_fail(err, TG_EDATA,
                       STEPS " must be equally spaced by a power of two and end at train/step, %zu", step);
    for (size_t i = 0; i < h->n_losses; i++)
        if (!isfinite(h->loss[i]))
            return tg_fail(err, TG_EDATA, LOSSES "[%zu] is %g: it must be finite", i, fabs(h->loss[i]));
    return TG_OK;
}
