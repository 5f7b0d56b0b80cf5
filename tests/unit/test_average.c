/* The mean of the last steps' parameters (lib/train/average.h). */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/tokens/tokenizer_read.h"
#include "lib/train/plan.h"
#include "lib/train/recipe.h"
#include "tests/unit/byte_stream.h"
#include "tests/unit/check.h"
#include "tests/unit/short_run.h"
#include "tests/unit/small_model.h"
#include "tests/unit/thread_team.h"

enum { T = 16, STEPS = 12, AVERAGE = 5 };

static tg_tokens stream;

static void begin(tg_run *run, tg_optimizer_kind optimizer, size_t average)
{
    tg_model m;
    tg_err err;

    memset(run, 0, sizeof *run);
    small_model_create(&m, small_config(2, 4, 32, T), 1);
    CHECK_OK(tg_run_begin(run, &m, &err), &err);
    run->settings.steps = STEPS;
    run->settings.context = T;
    run->settings.batch = 2;
    run->settings.accumulate = 3; /* as many as the largest team has members */
    run->settings.warmup = 2;
    run->settings.optimizer = optimizer;
    run->settings.average = average;
    CHECK_OK(tg_run_prepare(run, &err), &err);
}

static void train_to(tg_run *run, size_t step)
{
    short_run_train(run, &stream, step);
}

static bool same_weights(const tg_run *a, const tg_run *b)
{
    return memcmp(a->model.params, b->model.params, a->model.table.floats * sizeof(float)) == 0;
}

/* ---- what it is */

/* Train a run without a mean to a step, and add its parameters after each step from `first` on to the sum. */
static void add_steps(double *sum, tg_run *run, size_t first, size_t last)
{
    while (run->step < last) {
        train_to(run, run->step + 1);
        for (size_t i = 0; run->step >= first && i < run->model.table.floats; i++)
            sum[i] += (double)run->model.params[i];
    }
}

static void check_mean(const tg_run *run, const double *sum, size_t average)
{
    for (size_t i = 0; i < run->model.table.floats; i++)
        CHECK_NEAR((double)run->model.params[i], sum[i] / (double)average, 1e-6);
}

static double *zeros(const tg_run *run)
{
    double *sum = calloc(run->model.table.floats, sizeof *sum);

    CHECK(sum != NULL);
    return sum;
}

static void it_takes_the_parameters_place_after_the_last_step(void)
{
    for (size_t optimizer = TG_OPTIMIZER_ADAMW; optimizer <= TG_OPTIMIZER_MUON; optimizer++) {
        tg_run with, without;
        double *sum, largest = 0;

        begin(&with, (tg_optimizer_kind)optimizer, AVERAGE);
        begin(&without, (tg_optimizer_kind)optimizer, 0);
        sum = zeros(&with);
        train_to(&with, STEPS - 1);
        add_steps(sum, &without, STEPS - AVERAGE + 1, STEPS - 1);
        CHECK(same_weights(&with, &without)); /* until then it changes nothing */
        train_to(&with, STEPS);
        add_steps(sum, &without, STEPS, STEPS);
        check_mean(&with, sum, AVERAGE);
        for (size_t i = 0; i < with.model.table.floats; i++)
            largest = fmax(largest, fabs((double)(with.model.params[i] - without.model.params[i])));
        CHECK(largest > 1e-4); /* the last step's parameters are others */
        free(sum);
        tg_run_free(&with);
        tg_run_free(&without);
    }
}

static void stopped_anywhere_ends_the_same(void)
{
    tg_run whole;

    begin(&whole, TG_OPTIMIZER_MUON, AVERAGE);
    train_to(&whole, STEPS);
    for (size_t step = STEPS - AVERAGE - 1; step <= STEPS; step++) {
        tg_run run, again;

        begin(&run, TG_OPTIMIZER_MUON, AVERAGE);
        train_to(&run, step);
        short_run_save_and_read(&again, &run);
        CHECK_EQ(again.settings.average, AVERAGE);
        train_to(&again, STEPS);
        CHECK(same_weights(&again, &whole));
        tg_run_free(&run);
        tg_run_free(&again);
    }
    tg_run_free(&whole);
}

/* A team that stops within the mean, whose first member has saved what another team goes on with. */
static void take_steps(const tg_team *team, void *context)
{
    const tg_run *alone = context;
    tg_batches b;
    tg_trainer t;
    tg_run run;
    tg_err err;

    begin(&run, TG_OPTIMIZER_MUON, AVERAGE);
    short_run_open(&t, &b, &run, &stream, team);
    tg_trainer_deal(&t);
    short_run_steps(&t, STEPS - 2);
    tg_trainer_collect(&t);
    tg_trainer_close(&t);
    if (team->rank > 0)
        CHECK_OK(tg_average_build(&run.average, &run.model.table, &err), &err);
    short_run_open(&t, &b, &run, &stream, team);
    tg_trainer_deal(&t);
    short_run_steps(&t, STEPS);
    CHECK(same_weights(&run, alone));
    tg_trainer_close(&t);
    tg_run_free(&run);
}

static void a_team_ends_the_same(void)
{
    tg_run alone;

    begin(&alone, TG_OPTIMIZER_MUON, AVERAGE);
    train_to(&alone, STEPS);
    for (size_t members = 2; members <= 3; members++)
        thread_team_run(members, take_steps, &alone);
    tg_run_free(&alone);
}

/* ---- a run that goes on with other settings */

/* Ask a run for so many steps, and a mean of the last `average` of them. */
static tg_status resume(tg_run *run, size_t steps, size_t average, tg_err *err)
{
    const bool given[TG_SETTINGS] = {[TG_SET_STEPS] = true, [TG_SET_AVERAGE] = true};
    tg_settings asked = run->settings;

    asked.steps = steps;
    asked.average = average;
    return tg_run_resume(run, 0, &asked, given, &steps, err);
}

/* Ask a run for other steps after `at` of them, and compare its mean with the parameters of a run without
 * one. A complete run goes on with its mean. */
static void check_resumed(size_t at, size_t steps, size_t average)
{
    const size_t first = steps - average + 1;
    tg_run with, without;
    double *sum;
    tg_err err;

    begin(&with, TG_OPTIMIZER_ADAMW, AVERAGE);
    begin(&without, TG_OPTIMIZER_ADAMW, 0);
    sum = zeros(&with);
    train_to(&with, at);
    add_steps(sum, &without, first, at);
    if (at == STEPS) {
        tg_run_free(&without);
        short_run_save_and_read(&without, &with);
    }
    CHECK_OK(resume(&with, steps, average, &err), &err);
    CHECK_OK(resume(&without, steps, 0, &err), &err);
    CHECK_OK(tg_run_prepare(&with, &err), &err);
    train_to(&with, steps);
    add_steps(sum, &without, first, steps);
    if (average > 0)
        check_mean(&with, sum, average);
    else
        CHECK(same_weights(&with, &without));
    free(sum);
    tg_run_free(&with);
    tg_run_free(&without);
}

static void a_run_goes_on_with_another(void)
{
    check_resumed(9, STEPS + 2, AVERAGE + 2); /* it begins after the same step */
    check_resumed(9, STEPS + 5, AVERAGE);     /* after a later one */
    check_resumed(9, STEPS, 0);
    check_resumed(STEPS, 2 * STEPS, AVERAGE);
    check_resumed(STEPS, STEPS + 3, 3);
}

/* A complete run that is asked for fewer steps than its mean had has one of these. */
static void a_short_continuation_has_a_short_mean(void)
{
    const bool given[TG_SETTINGS] = {[TG_SET_STEPS] = true};
    size_t steps;
    tg_run run;
    tg_err err;

    begin(&run, TG_OPTIMIZER_ADAMW, AVERAGE);
    train_to(&run, STEPS);
    CHECK_OK(tg_run_resume(&run, 0, &(tg_settings){.steps = STEPS + 2}, given, &steps, &err), &err);
    CHECK_EQ(run.settings.average, 2);
    CHECK_OK(tg_run_resume(&run, 0, &(tg_settings){.steps = STEPS + 20}, given, &steps, &err), &err);
    CHECK_EQ(run.settings.steps, STEPS + 20);
    tg_run_free(&run);
}

static void too_late_to_begin(void)
{
    static const struct {
        size_t steps, average;
        tg_status status;
        const char *refused;
    } asked[] = {
        {STEPS + 1, AVERAGE, TG_EUSAGE,
         "after 9 steps it is too late to begin a mean of the last 5 of 13 steps: expected an average of at "
         "most 4, or 0"},
        {STEPS, AVERAGE + 1, TG_EUSAGE,
         "after 9 steps it is too late to begin a mean of the last 6 of 12 steps"},
        {STEPS, STEPS + 1, TG_EDATA, "a mean of the last 13 of 12 steps, expected at most as many"},
    };

    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        tg_err err = {0};
        tg_run run;

        begin(&run, TG_OPTIMIZER_ADAMW, AVERAGE);
        train_to(&run, 9);
        CHECK_EQ(resume(&run, asked[i].steps, asked[i].average, &err), asked[i].status);
        CHECK_HAS(err.message, asked[i].refused);
        tg_run_free(&run);
    }
}

static void bf16_parameters_have_none(void)
{
    tg_err err = {0};
    tg_run run;

    begin(&run, TG_OPTIMIZER_ADAMW, 0);
    run.settings.master = TG_PRECISION_BF16;
    CHECK_EQ(resume(&run, STEPS, AVERAGE, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "a mean of the last steps is of float32 parameters: master is bf16");
    tg_run_free(&run);
}

static void what_is_not_finite_is_not_written(void)
{
    const int fd = memfd_create("run", 0);
    tg_err err = {0};
    tg_run run;

    begin(&run, TG_OPTIMIZER_ADAMW, AVERAGE);
    train_to(&run, STEPS - 1);
    run.average.mean[run.model.table.entry[1].offset + 2] = HUGE_VALF;
    CHECK_EQ(tg_run_write(&run, fd, &err), TG_EDATA);
    CHECK_HAS(err.message, "opt/a/wpe.weight[2] is inf");
    CHECK_EQ(lseek(fd, 0, SEEK_END), 0);
    close(fd);
    tg_run_free(&run);
}

/* ---- a plan */

static void a_plan_gives_it_a_third_of_the_decay(void)
{
    tg_run run = {.settings = tg_settings_default()};

    run.settings.average = 1;
    tg_plan_open(&run, 1);
    for (run.step = 1; tg_plan_is_open(&run); run.step++)
        tg_plan_update(&run, 60 - 0.5 * (double)run.step, 0.5, 0);
    CHECK_EQ(run.settings.average, run.settings.decay / 3);
    CHECK(run.settings.average > 10);
}

/* One that ends with so few steps that the mean would have begun has none. */
static void a_plan_that_ends_too_late_has_none(void)
{
    tg_run run = {.settings = tg_settings_default(), .step = 90};

    run.settings.average = 1;
    tg_plan_open(&run, 1);
    tg_plan_close(&run, 120, 48);
    CHECK_EQ(run.settings.average, 16);
    tg_plan_open(&run, 1);
    tg_plan_close(&run, 120, 9); /* it follows the decay that is asked for */
    CHECK_EQ(run.settings.average, 3);
    run.step = 118;
    tg_plan_open(&run, 1);
    tg_plan_close(&run, 120, 48);
    CHECK_EQ(run.settings.average, 0);
    CHECK_EQ(tg_recipe_average(0), 0);
    CHECK_EQ(tg_recipe_average(1), 1);
}

int main(void)
{
    stream = byte_stream();
    RUN(it_takes_the_parameters_place_after_the_last_step);
    RUN(stopped_anywhere_ends_the_same);
    RUN(a_team_ends_the_same);
    RUN(a_run_goes_on_with_another);
    RUN(a_short_continuation_has_a_short_mean);
    RUN(too_late_to_begin);
    RUN(bf16_parameters_have_none);
    RUN(what_is_not_finite_is_not_written);
    RUN(a_plan_gives_it_a_third_of_the_decay);
    RUN(a_plan_that_ends_too_late_has_none);
    tg_tokenizer_free(stream.tokenizer);
    return check_done();
}
