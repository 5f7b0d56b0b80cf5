/* Training that begins with shorter sequences (lib/train/settings.h, first_context). */
#include <math.h>
#include <string.h>

#include "lib/tokens/tokenizer_read.h"
#include "lib/train/plan.h"
#include "tests/unit/byte_stream.h"
#include "tests/unit/check.h"
#include "tests/unit/short_run.h"
#include "tests/unit/small_model.h"
#include "tests/unit/thread_team.h"

enum { T = 16, FIRST = 4, BATCH = 3, STEPS = 12, DECAY = 5 };

static tg_tokens stream;

static void begin(tg_run *run, size_t context, size_t first, size_t batch)
{
    tg_model m;
    tg_err err;

    memset(run, 0, sizeof *run);
    small_model_create(&m, small_config(2, 4, 32, T), 1);
    CHECK_OK(tg_run_begin(run, &m, &err), &err);
    run->settings.steps = STEPS;
    run->settings.decay = DECAY;
    run->settings.context = context;
    run->settings.first_context = first;
    run->settings.batch = batch;
    run->settings.accumulate = 2;
    run->settings.dropout = 0.1;
    run->settings.warmup = 2;
}

static void train_to(tg_run *run, size_t step)
{
    short_run_train(run, &stream, step);
}

static bool same_weights(const tg_run *a, const tg_run *b)
{
    const size_t n = a->model.table.floats;

    return memcmp(a->model.params, b->model.params, n * sizeof(float)) == 0 &&
           memcmp(a->moments.m.floats, b->moments.m.floats, n * sizeof(float)) == 0;
}

/* ---- what it is */

/* As two runs, one after the other: of short sequences, then of long ones, in as many tokens a step. */
static void short_sequences_then_long_ones(void)
{
    tg_run run, parts;

    begin(&run, T, FIRST, BATCH);
    begin(&parts, FIRST, 0, BATCH * T / FIRST);
    train_to(&run, STEPS - DECAY);
    train_to(&parts, STEPS - DECAY);
    CHECK(same_weights(&run, &parts));
    parts.settings.context = T;
    parts.settings.batch = BATCH;
    train_to(&run, STEPS);
    train_to(&parts, STEPS);
    CHECK(same_weights(&run, &parts));
    tg_run_free(&run);
    tg_run_free(&parts);
}

static void stopped_anywhere_ends_the_same(void)
{
    tg_run whole;

    begin(&whole, T, FIRST, BATCH);
    train_to(&whole, STEPS);
    for (size_t step = 1; step < STEPS; step += 2) {
        tg_run run, again;

        begin(&run, T, FIRST, BATCH);
        train_to(&run, step);
        short_run_save_and_read(&again, &run);
        CHECK_EQ(again.settings.first_context, FIRST);
        train_to(&again, STEPS);
        CHECK(same_weights(&again, &whole));
        tg_run_free(&run);
        tg_run_free(&again);
    }
    tg_run_free(&whole);
}

static void take_steps(const tg_team *team, void *context)
{
    const tg_run *alone = context;
    tg_batches b;
    tg_trainer t;
    tg_run run;

    begin(&run, T, FIRST, BATCH);
    short_run_open(&t, &b, &run, &stream, team);
    tg_trainer_deal(&t);
    short_run_steps(&t, STEPS);
    CHECK(memcmp(run.model.params, alone->model.params, run.model.table.floats * sizeof(float)) == 0);
    tg_trainer_close(&t);
    tg_run_free(&run);
}

static void a_team_takes_the_same_steps(void)
{
    tg_run alone;

    begin(&alone, T, FIRST, BATCH);
    train_to(&alone, STEPS);
    thread_team_run(2, take_steps, &alone);
    tg_run_free(&alone);
}

/* Measuring passes, and validating, between steps of either kind. */
static void what_is_between_steps_leaves_no_trace(void)
{
    tg_step_report report;
    tg_run run, other;
    tg_batches b;
    tg_trainer t;
    tg_err err;

    begin(&run, T, FIRST, BATCH);
    begin(&other, T, FIRST, BATCH);
    train_to(&other, STEPS);
    short_run_open(&t, &b, &run, &stream, &tg_team_alone);
    while (run.step < STEPS) {
        tg_trainer_try(&t, T);
        tg_trainer_try(&t, FIRST);
        CHECK(isfinite(tg_trainer_evaluate(&t, b.val_windows)));
        CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
    }
    tg_trainer_close(&t);
    CHECK(same_weights(&run, &other));
    tg_run_free(&run);
    tg_run_free(&other);
}

/* ---- what is refused */

static void settings_are_checked(void)
{
    tg_settings s = tg_settings_default();
    tg_err err = {0};

    s.context = T;
    s.first_context = FIRST;
    CHECK_EQ(tg_settings_check(&s, &err), TG_EDATA);
    CHECK_HAS(err.message, "a first context of 4 tokens, but no decay");
    s.decay = 10;
    CHECK_OK(tg_settings_check(&s, &err), &err);
    CHECK_EQ(tg_settings_sequences(&s), s.batch * T / FIRST);
    CHECK_EQ(tg_settings_context(&s, s.steps - s.decay - 1), FIRST);
    CHECK_EQ(tg_settings_context(&s, s.steps - s.decay), T);
    s.first_context = 5;
    CHECK_EQ(tg_settings_check(&s, &err), TG_EDATA);
    CHECK_HAS(err.message, "a context of 16 is not a multiple of the first one, 5");
    s.first_context = 2 * T;
    CHECK_EQ(tg_settings_check(&s, &err), TG_EDATA);
}

static void documents_are_refused(void)
{
    unsigned char mask[BYTE_STREAM];
    tg_tokens masked = stream;
    tg_text_changes changes;
    tg_batches b;
    tg_run run;
    tg_err err = {0};

    memset(mask, 1, sizeof mask);
    masked.mask = mask;
    begin(&run, T, FIRST, BATCH);
    CHECK_EQ(tg_run_use_text(&run, &b, &masked, NULL, &changes, &err), TG_EDATA);
    CHECK_HAS(err.message, "a first context of 4 tokens, but the text has a loss mask");
    tg_run_free(&run);
}

/* ---- a plan */

/* 60 seconds, of which a step takes 0.6, and 0.3 more at the end: x steps with 0.6 x + 0.3 * 0.4 x = 60. */
static void a_plan_knows_that_later_steps_take_longer(void)
{
    tg_run run = {.settings = tg_settings_default()};

    tg_plan_open(&run, 1);
    for (run.step = 1; tg_plan_is_open(&run) && run.step < 100; run.step++)
        tg_plan_update(&run, 60 - 0.6 * (double)run.step, 0.6, 0.3);
    CHECK(run.settings.steps >= 82 && run.settings.steps <= 84);
    CHECK(run.settings.decay >= 32 && run.settings.decay <= 34);
}

int main(void)
{
    stream = byte_stream();
    RUN(short_sequences_then_long_ones);
    RUN(stopped_anywhere_ends_the_same);
    RUN(a_team_takes_the_same_steps);
    RUN(what_is_between_steps_leaves_no_trace);
    RUN(settings_are_checked);
    RUN(documents_are_refused);
    RUN(a_plan_knows_that_later_steps_take_longer);
    tg_tokenizer_free(stream.tokenizer);
    return check_done();
}
