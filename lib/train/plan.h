/*
 * plan: how many steps a run has that is to end at a certain time.
 *
 * While its plan is open, the learning rate stays at its peak, and run->settings.steps is an estimate.  When
 * as many steps are left as are to decay, their number is fixed: the run is from then on like any other of
 * that many steps, --steps with --decay, and has the same bytes, because no learning rate before depended on
 * it.
 */
#ifndef TG_TRAIN_PLAN_H
#define TG_TRAIN_PLAN_H

#include <stdbool.h>

#include "lib/train/run.h"

/* Begin a plan: a run that has done no step, and whose settings are still to be chosen (tg_run_resume()), is
 * to take so many minutes. */
void tg_plan_open(tg_run *run, double minutes);

/* End an open plan: its run is to have so many steps, and the learning rate falls in the last `decay` of them
 * (0: by a cosine).  A mean follows the decay; if it would have begun, there is none.  No effect if no plan
 * is open. */
void tg_plan_close(tg_run *run, size_t steps, size_t decay);

static inline bool tg_plan_is_open(const tg_run *run)
{
    return run->minutes > 0;
}

/*
 * Estimate how many steps an open plan has, if there are `seconds` left and a step takes so many, and so many
 * more while the learning rate falls (sequences may be longer then); or fix them.  At least one is left.
 * run->settings has the numbers.
 */
void tg_plan_update(tg_run *run, double seconds, double per_step, double more);

#endif
