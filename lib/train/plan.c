#include "lib/train/plan.h"

#include <math.h>

#include "lib/base/size.h"
#include "lib/train/recipe.h"

void tg_plan_open(tg_run *run, double minutes)
{
    run->minutes = minutes;
    run->seconds = 0;
}

/* The steps in which the rate falls, and, of a run that has one, those of the mean. */
static void set_decay(tg_settings *s, size_t decay)
{
    s->decay = decay;
    if (s->average > 0)
        s->average = tg_recipe_average(decay);
}

void tg_plan_close(tg_run *run, size_t steps, size_t decay)
{
    if (!tg_plan_is_open(run))
        return;
    set_decay(&run->settings, decay);
    if (run->settings.average > steps || run->step > steps - run->settings.average)
        run->settings.average = 0; /* it would have begun */
    run->minutes = run->seconds = 0;
}

/* So many steps, as far as a run may have them. */
static size_t steps_left(const tg_run *run, double steps)
{
    const size_t limit = (TG_RUN_LIMIT - 1) / tg_settings_sequences(&run->settings);
    const double most = (double)(limit - run->step);

    return steps < most ? (size_t)fmax(1, floor(steps)) : (size_t)most;
}

void tg_plan_update(tg_run *run, double seconds, double per_step, double more)
{
    tg_settings *s = &run->settings;
    /* seconds = left * per_step + decay * more, and decay = TG_RECIPE_DECAY * (step + left) */
    const double share = TG_RECIPE_DECAY * more, done = share * (double)run->step;
    size_t left = steps_left(run, (seconds - done) / (per_step + share));

    s->steps = run->step + left;
    set_decay(s, tg_recipe_decay(s->steps));
    if (s->decay < left)
        return;
    left = steps_left(run, seconds / (per_step + more));
    s->steps = run->step + left;
    set_decay(s, left);
    run->minutes = run->seconds = 0;
}
