#include "lib/view/axis.h"

#include <math.h>
#include <stdio.h>

#include "lib/base/size.h"

/* ---- places */

static double clamp(double x)
{
    return x > 0 ? x < 1 ? x : 1 : 0;
}

double tg_axis_place(const tg_axis *axis, double x)
{
    if (axis->log)
        return x > 0 ? clamp(log(x / axis->low) / log(axis->high / axis->low)) : 0;
    /* halves, so that no difference overflows */
    return clamp((x / 2 - axis->low / 2) / (axis->high / 2 - axis->low / 2));
}

double tg_axis_number(const tg_axis *axis, double place)
{
    if (axis->log)
        return axis->low * pow(axis->high / axis->low, place);
    return axis->low * (1 - place) + axis->high * place;
}

/* ---- ticks */

static void add_tick(tg_axis *axis, double x)
{
    if (x >= axis->low && x <= axis->high && axis->n < TG_AXIS_TICKS)
        axis->tick[axis->n++] = x;
}

/* The least of 1, 2, 5, 10, 20, ... and their tenths that is not below x. */
static double round_step(double x)
{
    const double power = pow(10, floor(log10(x)));

    return x <= power ? power : x <= 2 * power ? 2 * power : x <= 5 * power ? 5 * power : 10 * power;
}

static void add_even_ticks(tg_axis *axis, size_t ticks)
{
    const double range = axis->high - axis->low;
    double first;

    axis->n = 0;
    axis->step = round_step(range / (double)(ticks - 1));
    if (!isfinite(range) || !isfinite(axis->step) || !(axis->step > 0))
        return;
    first = ceil(axis->low / axis->step);
    for (size_t i = 0; i < ticks; i++)
        add_tick(axis, (first + (double)i) * axis->step);
}

/* Powers of ten, with twice and five times as much between them if there is room, or only some of them. */
static void add_powers(tg_axis *axis, size_t ticks)
{
    const double first = floor(log10(axis->low)), decades = ceil(log10(axis->high)) - first;
    const bool between = decades * 3 + 1 <= (double)ticks;
    const double every = between ? 1 : ceil((decades + 1) / (double)ticks);
    const size_t powers = (size_t)(decades / every) + 1;

    axis->n = 0;
    axis->step = 0;
    for (size_t i = 0; i < powers; i++) {
        const double x = pow(10, first + (double)i * every);

        add_tick(axis, x);
        if (between) {
            add_tick(axis, 2 * x);
            add_tick(axis, 5 * x);
        }
    }
}

void tg_axis_make(tg_axis *axis, double low, double high, double factor, size_t ticks)
{
    *axis = (tg_axis){.low = low, .high = high};
    if (!(high > low)) { /* one number, which gets some room */
        const double room = fabs(low) > 1e-3 ? fabs(low) / 20 : 1e-3;

        axis->low = low - room;
        axis->high = low + room;
    }
    axis->log = low > 0 && isfinite(axis->high / axis->low) && axis->high / axis->low >= factor;
    if (axis->log)
        add_powers(axis, ticks);
    if (axis->n < 3)
        add_even_ticks(axis, ticks);
}

static int decimals(double step)
{
    const double n = -floor(log10(step));

    return n > 0 ? n < 9 ? (int)n : 9 : 0;
}

void tg_axis_text(char out[TG_AXIS_TEXT], const tg_axis *axis, double tick)
{
    static const struct {
        double from;
        char letter;
    } units[] = {{1e9, 'G'}, {1e6, 'M'}, {1e4, 'k'}};
    const double x = fabs(tick);

    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        const double unit = units[i].letter == 'k' ? 1e3 : units[i].from;

        if (x >= units[i].from && x < 1e13) {
            snprintf(out, TG_AXIS_TEXT, "%.6g%c", tick / unit, units[i].letter);
            return;
        }
    }
    if (axis->step > 0 && x < 1e6)
        snprintf(out, TG_AXIS_TEXT, "%.*f", decimals(axis->step), tick);
    else
        snprintf(out, TG_AXIS_TEXT, "%.6g", tick);
}

/* ---- curves */

size_t tg_axis_means(double *out_x, double *out_y, size_t parts, const tg_axis *axis, const double *x,
                     const double *y, size_t n)
{
    size_t done = 0, part = parts, count = 0;

    for (size_t i = 0; i < n; i++) {
        const size_t in = tg_size_min((size_t)(tg_axis_place(axis, x[i]) * (double)parts), parts - 1);

        if (!isfinite(y[i]) || x[i] < axis->low || x[i] > axis->high)
            continue;
        if (done == 0 || in != part) {
            out_x[done] = out_y[done] = 0;
            done++;
            part = in;
            count = 0;
        }
        count++; /* a mean that grows cannot overflow */
        out_x[done - 1] += (x[i] - out_x[done - 1]) / (double)count;
        out_y[done - 1] += (y[i] - out_y[done - 1]) / (double)count;
    }
    return done;
}
