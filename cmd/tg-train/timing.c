#include "cmd/tg-train/timing.h"

#include <math.h>

#include "cmd/cli/cli.h"
#include "lib/train/plan.h"
#include "lib/train/recipe.h"

/* The seconds of a pass of sequences of T tokens, unless they are already fewer. */
static double time_pass(tg_trainer *trainer, size_t T, double best)
{
    const double began = cli_now();

    tg_trainer_try(trainer, T);
    return fmin(best, cli_now() - began);
}

void train_timing_measure(train_timing *timing, tg_trainer *trainer)
{
    enum { TIMES = 3, SECONDS = 2 };
    const tg_settings *s = &trainer->run->settings;
    const size_t passes = trainer->end_pass - trainer->first_pass;
    const double began = cli_now();
    double first = HUGE_VAL, then = HUGE_VAL; /* others on the machine only make them more */

    if (tg_settings_context(s, trainer->run->step) == s->context)
        return;
    tg_trainer_try(trainer, s->context); /* not timed: memory is used for the first time */
    for (int i = 0; i < TIMES && (i == 0 || cli_now() - began < SECONDS); i++) {
        first = time_pass(trainer, s->first_context, first);
        then = time_pass(trainer, s->context, then);
    }
    timing->longer = (double)passes * fmax(0, then - first);
}

static void say_steps(const train_setup *setup)
{
    const tg_settings *s = &setup->run.settings;
    const train_options *o = setup->options;
    char mean[64] = "";

    if (s->average > 0)
        snprintf(mean, sizeof mean, " --%s %zu", o->name[TG_SET_AVERAGE], s->average);
    cli_say(
        "the learning rate falls from now on; without --minutes, this run is  --%s %zu --%s %zu --%s %zu%s",
        o->name[TG_SET_STEPS], s->steps, o->name[TG_SET_DECAY], s->decay, o->name[TG_SET_WARMUP], s->warmup,
        mean);
}

/* How long a validation takes: as the last one; before there was one, a third of as many tokens' steps, of
 * full sequences, because it has no backward pass and no update. */
static double validation_time(const train_timing *timing, const train_setup *setup, double per_step)
{
    const tg_settings *s = &setup->run.settings;
    const size_t windows = tg_trainer_val_windows(&setup->batches, setup->options->eval_tokens);

    if (timing->validation > 0)
        return timing->validation;
    return (per_step + timing->longer) * (double)windows / (double)(s->batch * s->accumulate) / 3;
}

/* Of the seconds that are left, those for steps: without the last validation, and those until then. */
static double time_for_steps(const train_timing *timing, const train_setup *setup, double seconds,
                             double per_step)
{
    const double every = (double)setup->options->eval_every, step = (double)setup->run.step;
    const double validation = validation_time(timing, setup, per_step), left = seconds - validation;
    const double mean = per_step + TG_RECIPE_DECAY * timing->longer; /* of a step */
    double steps;

    if (every == 0)
        return left;
    steps = fmax(0, left / (mean + validation / every));
    return left - validation * (floor((step + steps) / every) - floor((step - 1) / every));
}

/* When the speed is known, and the run can still be stopped. */
static void warn_of_short_text(train_timing *timing, const train_setup *setup, double seconds)
{
    enum { SECONDS = 3 };
    const tg_settings *s = &setup->run.settings;
    const double windows = (double)(s->batch * s->accumulate) * (double)s->steps;
    const double times = windows / (double)setup->batches.windows;
    const bool regularized = s->dropout > 0 || s->weight_decay >= 1;
    const double most = regularized ? TG_RECIPE_EPOCHS_REGULARIZED : TG_RECIPE_EPOCHS;

    if (timing->warned || times <= most || (seconds < SECONDS && tg_plan_is_open(&setup->run)))
        return;
    timing->warned = true;
    cli_say("in this time the text is read about %.0f times, and learned by heart: less time, or more text, "
            "makes "
            "a better model; --keep-best keeps the best one so far",
            times);
}

void train_timing_update(train_timing *timing, train_setup *setup, const train_report *report)
{
    tg_run *run = &setup->run;
    const double now = cli_now();
    double per_step, numbers[3];

    if (!tg_plan_is_open(run))
        return;
    run->seconds = timing->before + now - timing->began;
    per_step = (now - report->start) / (double)(run->step - report->first); /* without pauses */
    numbers[0] = time_for_steps(timing, setup, 60 * run->minutes - run->seconds, per_step);
    numbers[1] = per_step;
    numbers[2] = timing->longer;
    tg_team_spread(setup->team, numbers, sizeof numbers);
    tg_plan_update(run, numbers[0], numbers[1], numbers[2]);
    if (setup->team->rank > 0)
        return;
    warn_of_short_text(timing, setup, now - report->start);
    if (!tg_plan_is_open(run))
        say_steps(setup);
}
