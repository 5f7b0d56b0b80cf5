/* The losses of runs, ready to be drawn. */
#include "cmd/tg-info/show.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "lib/base/size.h"

#define STEPS_FACTOR 20 /* from the first step to the last: as much, and the scale is logarithmic */
#define LOSS_FACTOR 4   /* likewise, from the least loss to the greatest */
#define STEPS_SHARE                                                                                          \
    100 /* a plot begins with that part of the shortest run: its warm-up would hide the rest */

/* ---- curves */

/* Both arrays share one block, that of the steps. */
static tg_status make_curve(info_curve *curve, const double *step, const double *loss, size_t n, tg_err *err)
{
    const size_t bytes = tg_size_mul_sat(2 * sizeof *loss, n);
    double *block = malloc(tg_size_max(bytes, 1));

    *curve = (info_curve){.step = block, .loss = block ? block + n : NULL};
    if (!block)
        return tg_fail_memory(err, bytes, "the losses of a run");
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(loss[i]))
            continue;
        curve->step[curve->n] = step[i];
        curve->loss[curve->n] = loss[i];
        curve->least = loss[i] < curve->loss[curve->least] ? curve->n : curve->least;
        curve->n++;
    }
    return TG_OK;
}

tg_status info_runs_add(info_runs *runs, tg_info *info, tg_err *err)
{
    tg_info_history *h = &info->history;
    info_run *run = &runs->run[runs->n];
    const info_curve *c = &run->loss;
    tg_status status;

    if (runs->n == 0) /* no steps yet */
        *runs = (info_runs){.first = HUGE_VAL, .shortest = HUGE_VAL, .last = -HUGE_VAL};
    runs->n++;
    *run = (info_run){.info = info, .repeated = tg_info_history_latest(h)};
    if ((status = make_curve(&run->loss, h->step, h->loss, h->n, err)) ||
        (status = make_curve(&run->val_loss, h->step, h->val_loss, h->val_loss ? h->n : 0, err)))
        return status;
    runs->any_val = runs->any_val || run->val_loss.n > 0;
    if (c->n == 0)
        return TG_OK;
    runs->first = fmin(runs->first, c->step[0]);
    runs->shortest = fmin(runs->shortest, c->step[c->n - 1]);
    runs->last = fmax(runs->last, c->step[c->n - 1]);
    runs->any = true;
    return TG_OK;
}

void info_runs_free(info_runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        free(runs->run[i].loss.step);
        free(runs->run[i].val_loss.step);
    }
    *runs = (info_runs){0};
}

/* ---- axes */

size_t info_curve_thin(double *x, double *y, size_t parts, const tg_axis *axis, const info_curve *curve)
{
    return tg_axis_means(x, y, parts, axis, curve->step, curve->loss, curve->n);
}

/* Of the means that a plot shows, so that a single step does not decide. */
static void widen(double *low, double *high, const tg_axis *x, const info_curve *curve)
{
    enum { PARTS = 128 };
    double steps[PARTS], losses[PARTS];
    const size_t n = info_curve_thin(steps, losses, PARTS, x, curve);

    for (size_t i = 0; i < n; i++) {
        *low = fmin(*low, losses[i]);
        *high = fmax(*high, losses[i]);
    }
}

void info_runs_axes(const info_runs *runs, tg_axis *x, tg_axis *y, size_t x_ticks, size_t y_ticks)
{
    const double first = fmax(runs->first, runs->shortest / STEPS_SHARE);
    double low = HUGE_VAL, high = -HUGE_VAL;

    /* a tick is a step, not a part of one */
    if (runs->any && runs->last - first < (double)x_ticks)
        x_ticks = tg_size_max(2, (size_t)(runs->last - first) + 1);
    tg_axis_make(x, first, runs->last, STEPS_FACTOR, x_ticks);
    for (size_t i = 0; i < runs->n; i++) {
        widen(&low, &high, x, &runs->run[i].loss);
        widen(&low, &high, x, &runs->run[i].val_loss);
    }
    tg_axis_make(y, low, high, LOSS_FACTOR, y_ticks);
}

const char *info_scales(const tg_axis *x, const tg_axis *y)
{
    return x->log && y->log ? "; log scales"
           : x->log         ? "; log scale of steps"
           : y->log         ? "; log scale of losses"
                            : "";
}

/* ---- the terminal */

size_t info_width(void)
{
    const size_t width = cli_terminal_width(STDOUT_FILENO);

    return width == 0 ? 80 : tg_size_max(40, tg_size_min(width, 120));
}

bool info_has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);

        if (value && *value != '\0')
            return strstr(value, "UTF-8") || strstr(value, "utf8");
    }
    return false;
}
