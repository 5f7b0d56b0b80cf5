#include "lib/train/plan.h"

#include <math.h>

#include "lib/base/size.h"
#include "lib/train/recipe.h"

void tg_plan_open(tg_run *run, double minutes)
{
    run->minutes = minutes;
    run->seconds = 0;
}

void tg_plan_close(tg_run *run, size_t steps)
{
    if (!tg_plan_is_open(run))
        return;
    run->settings.decay = (size_t)(TG_RECIPE_DECAY * (double)steps);
    run->minutes = run->seconds = 0;
}

/* The steps that fit into the seconds, as far as a run may have so many. */
static size_t steps_left(const tg_run *run, double seconds, double per_step)
{
    const tg_settings *s = &run->settings;
    const size_t limit = (TG_RUN_LIMIT - 1) / (s->accumulate * s->batch);
    const double steps = floor(seconds / per_step), most = (double)(limit - run->step);

    return steps < most ? (size_t)fmax(1, steps) : (size_t)most;
}

void tg_plan_update(tg_run *run, double seconds, double per_step)
{
    tg_settings *s = &run->settings;
    const size_t left = steps_left(run, seconds, per_step);

    s->steps = run->step + left;
    s->decay = tg_size_max(1, (size_t)(TG_RECIPE_DECAY * (double)s->steps));
    if (s->decay < left)
        return;
    s->decay = left;
    run->minutes = run->seconds = 0;
}
