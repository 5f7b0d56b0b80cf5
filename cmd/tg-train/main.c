/* tg-train: train a model on token archives. */
#include <math.h>
#include <string.h>

#include "cmd/tg-train/report.h"
#include "cmd/tg-train/saving.h"
#include "cmd/tg-train/snapshots.h"
#include "cmd/tg-train/timing.h"
#include "lib/base/memory.h"
#include "lib/eval/eval.h"
#include "lib/train/plan.h"

/* ---- a run */

struct job {
    const train_options *o;
    const tg_team *team;
    train_setup setup;
    tg_trainer trainer;
    train_saving saving;
    train_report report;
    train_snapshots snapshots;
    train_timing timing;
    tg_watch watch; /* of a step or an evaluation */
    bool log_failed;
    bool compared;      /* the first validation has been compared with training */
    double origin_loss; /* of validation, before the first step; 0: not known */
};

/* How to finish a run that was stopped and whose model is in a file. */
static void say_how_to_resume(const struct job *job)
{
    const tg_run *run = &job->setup.run;

    if (job->setup.stream || run->step == run->settings.steps)
        return;
    cli_note("to resume%s: %s",
             train_text_is_stdin(job->o)
                 ? ", repeat the whole command, with what writes the tokens to standard input"
                 : "",
             job->o->again);
}

/* Writing the log failed: save the steps done so far. */
static void save_without_log(struct job *job)
{
    tg_err err = {0};

    if (train_save(&job->saving, &err))
        cli_say("%s", err.message);
    else
        train_say_saved(&job->saving);
}

/* ---- training */

/* Whether an action that is taken every `every` steps is due; 0: only at the end. */
static bool due(const struct job *job, size_t every)
{
    const size_t step = job->setup.run.step;

    return step == job->setup.run.settings.steps || (every > 0 && step % every == 0);
}

/*
 * Whether what is held out looks like another kind of text: a word, once.  The training loss is the mean of
 * the last 32 steps, so that one batch decides nothing.  It is of tokens that the model has seen at most once
 * before: a model that knows its text by heart is another matter.
 */
static void compare_losses(struct job *job)
{
    enum { STEPS = 32 };
    const tg_run *run = &job->setup.run;
    const tg_settings *s = &run->settings;
    const double train = tg_history_mean(&run->history, STEPS), val = job->report.val_loss;

    if (job->compared || job->o->val || isnan(train) ||
        tg_settings_context(s, run->step - 1) != s->context) /* sequences for validation are longer */
        return;
    job->compared = true;
    if (run->step * s->accumulate * s->batch / 2 > job->setup.batches.windows || val <= train + 0.5 ||
        val <= 1.2 * train)
        return;
    cli_say(
        "the validation loss, %.2f, is far above the training loss, %.2f: the held-out part may be another "
        "kind of text; --%s %d spreads it over the text, --val FILE takes another",
        val, train, job->o->name[TG_SET_VAL_BLOCKS], s->val_blocks > 1 ? (int)s->val_blocks * 4 : 20);
}

/* Whether a save is due before the last step, whose save is conclude()'s. */
static bool is_save_due(const struct job *job)
{
    const tg_run *run = &job->setup.run;

    return !job->setup.stream && run->step != run->settings.steps && due(job, job->o->save_every);
}

/* The mean bytes of text of the tokens that are predicted in so many windows for validation; 0: the tokens
 * have no text. */
static double bytes_per_token(const struct job *job, size_t windows)
{
    const tg_batches *b = &job->setup.batches;
    const tg_windows *w = &job->trainer.windows; /* scratch between passes */
    size_t bytes = 0;

    for (size_t i = 0; i < windows; i++) {
        tg_batches_val(b, w, i, 1, windows);
        for (size_t k = 0; k < b->T; k++)
            bytes += w->targets[k] < 0
                         ? 0
                         : tg_eval_token_bytes(job->setup.run.model.tokenizer, w->ids[k], w->targets[k]);
    }
    return (double)bytes / (double)tg_batches_val_targets(b, 0, windows, windows);
}

/* *best: the loss is less than all before. */
static tg_status evaluate(struct job *job, bool *best, tg_err *err)
{
    const size_t windows = tg_trainer_val_windows(&job->setup.batches, job->o->eval_tokens);
    train_report *r = &job->report;
    const double loss = tg_trainer_evaluate(&job->trainer, windows);

    if (job->trainer.pass.abandoned)
        return TG_OK;
    if (isnan(r->val_loss)) /* the windows are the same each time */
        r->val_bytes = bytes_per_token(job, windows);
    r->val_loss = loss;
    r->val_step = r->step;
    if (isfinite(r->val_loss)) {
        compare_losses(job);
        *best = r->step > 0 && job->o->keep_best && tg_run_note_val(&job->setup.run, loss);
        return TG_OK;
    }
    return tg_fail(err, TG_EDATA, "step %zu: the validation loss is %g, expected a finite number", r->step,
                   fabs(r->val_loss));
}

/* Progress callback: `fraction` of the current step or evaluation is done. */
static bool watch(void *context, double fraction)
{
    struct job *job = context;

    train_report_part(&job->report, fraction);
    if (cli_status_asked())
        train_report_say(&job->report);
    return !cli_abandon_asked();
}

/* Write the snapshot of this step, if it is due.  The first step's is that of the model as it was. */
static tg_status take_snapshot(struct job *job, tg_err *err)
{
    tg_status status;

    if (job->setup.run.step > 0 && !due(job, job->o->probe_every))
        return TG_OK;
    train_report_pause(&job->report);
    status = train_snapshots_write(&job->snapshots, err);
    train_report_resume(&job->report);
    if (status == TG_EIO || status == TG_ENOMEM)
        strncat(err->message, "; rerun the command to take it again",
                sizeof err->message - strlen(err->message) - 1);
    return status;
}

/* A line of the log, and a snapshot.  The run is saved if the log fails.  It is not if a snapshot does, so
 * that the same command takes it again. */
static tg_status record(struct job *job, tg_err *err)
{
    const tg_status status = train_report_step(&job->report, err);

    job->log_failed = status && status != TG_EDATA;
    return status ? status : take_snapshot(job, err);
}

/* What is done after a step: evaluate, then log, then save.  In this order a saved step is in the log even if
 * the run is killed at any moment, and has its snapshot, and a bad model does not replace a good one. */
static tg_status after_step(struct job *job, tg_err *err)
{
    const train_options *o = job->o;
    train_report *r = &job->report;
    bool best = false;
    tg_status status = TG_OK;

    train_timing_update(&job->timing, &job->setup, r);
    r->estimated = tg_plan_is_open(&job->setup.run);
    train_report_pause(r);
    if (job->setup.batches.val_windows > 0 && due(job, o->eval_every))
        status = evaluate(job, &best, err);
    if (r->val_step == r->step)
        job->timing.validation = cli_now() - r->pause_began;
    cli_let_abandon(false);
    train_report_resume(r);
    if (status)
        return status;
    status = record(job, err);
    if (!best && !is_save_due(job))
        return status;
    if (tg_team_agree(job->team, (int)status) != TG_OK) /* the first process alone has these */
        return status;
    train_report_pause(r);
    status = best ? train_save_best(&job->saving, err) : train_save_meanwhile(&job->saving, err);
    train_report_resume(r);
    return status;
}

static tg_status one_step(struct job *job, tg_err *err)
{
    train_report *r = &job->report;
    tg_step_report step;
    tg_status status;

    cli_let_abandon(true);
    status = tg_trainer_step(&job->trainer, &step, err);
    r->part = 0;
    if (status || step.abandoned)
        return status;
    r->last = step;
    r->step = job->setup.run.step;
    return after_step(job, err);
}

/* What the processes agree on before each step, besides the number of a signal that asks to stop. */
enum { GO_ON = 0, FAILED = 1000, LOG_FAILED };

/* All members of a team stop at the same step, and for the same reason. */
static int agree(const struct job *job, tg_status status)
{
    const int own = job->log_failed ? LOG_FAILED : status ? FAILED : cli_stop_signal();
    const int all = tg_team_agree(job->team, own);

    if (all == GO_ON || all >= FAILED)
        return all;
    if (own == GO_ON)
        cli_say("another process is asked to stop: saving");
    cli_note_stop(all);
    return all;
}

/* Tuning may have made the weights worse. */
static void say_if_worse(const struct job *job)
{
    const bool best = job->o->keep_best && job->saving.best_step > 0;
    const double loss = best ? job->saving.best_loss : job->report.val_loss;

    if (job->origin_loss > 0 && loss > job->origin_loss)
        cli_say("before the first step, the validation loss was less: %.4f", job->origin_loss);
}

/* Save and report what was done.  A step that was abandoned may have been the first: then a file stays
 * as it is. */
static tg_status conclude(struct job *job, tg_err *err)
{
    const bool nothing = job->setup.run.step == job->report.first && !job->setup.stream;
    tg_status status = nothing ? TG_OK : train_save(&job->saving, err);

    cli_progress_end();
    if (status == TG_EDATA || nothing)
        train_say_what_remains(&job->saving);
    if (status)
        return status;
    train_report_conclude(&job->report);
    if (!nothing)
        train_say_saved(&job->saving);
    if (job->o->keep_best && job->saving.best_step > 0)
        cli_note("the best model, in %s, is of step %s: validation loss %.4f", job->o->best,
                 cli_count(job->saving.best_step), job->saving.best_loss);
    say_if_worse(job);
    say_how_to_resume(job);
    return TG_OK;
}

/* The validation loss of weights that are tuned, before the first step; its time is no part of --minutes. */
static tg_status evaluate_origin(struct job *job, tg_err *err)
{
    const train_setup *s = &job->setup;
    bool best = false;
    tg_status status;

    if (s->origin != TG_ORIGIN_TRAINED || s->run.step > 0 || s->run.minutes > 0 || job->o->eval_every == 0 ||
        s->batches.val_windows == 0)
        return TG_OK;
    cli_let_abandon(true);
    train_report_pause(&job->report);
    status = evaluate(job, &best, err);
    cli_let_abandon(false);
    train_report_resume(&job->report);
    if (status || isnan(job->report.val_loss)) /* it has been abandoned */
        return status;
    job->origin_loss = job->report.val_loss;
    train_report_begin(&job->report);
    return TG_OK;
}

static tg_status train(struct job *job, tg_err *err)
{
    const tg_run *run = &job->setup.run;
    tg_status status;
    int agreed;

    job->trainer.watch = &job->watch;
    train_timing_measure(&job->timing, &job->trainer);
    job->report.longer = job->timing.longer;
    job->report.start = cli_now();
    status = evaluate_origin(job, err);
    while ((agreed = agree(job, status)) == GO_ON && run->step < run->settings.steps) {
        status = one_step(job, err);
        if (cli_status_asked())
            train_report_say(&job->report);
    }
    cli_let_abandon(false);
    if (agreed == LOG_FAILED)
        save_without_log(job);
    if (!(status = team_settle(job->team, status, err)))
        return conclude(job, err);
    if (status == TG_EDATA)
        train_say_what_remains(&job->saving);
    cli_progress_end();
    return status;
}

/* The run is complete: say so, and how to continue.  If the target is another file, write the model
 * there unchanged. */
static tg_status already_complete(struct job *job, tg_err *err)
{
    const train_setup *s = &job->setup;
    const size_t step = s->run.step;
    char command[TRAIN_COMMAND_SIZE];
    tg_status status;

    train_command_of_steps(command, job->o, 2 * step);
    if (s->steps < step)
        cli_note("%s is complete: %s steps are done, --steps asks for %s; to continue: %s",
                 cli_input_name(s->source), cli_count(step), cli_count(s->steps), command);
    else
        cli_note("%s is complete: %s of %s steps are done; to continue: %s", cli_input_name(s->source),
                 cli_count(step), cli_count(s->steps), command);
    if ((status = train_saving_begin(&job->saving, &job->setup, NULL, err)) ||
        (s->source == s->target && !cli_is_dash(s->target)))
        return status;
    if (!(status = train_save(&job->saving, err)))
        train_say_saved(&job->saving);
    return status;
}

/* What a step takes depends on what was asked for.  The run needs these bytes. */
static tg_status open_trainer(struct job *job, size_t bytes, tg_err *err)
{
    train_setup *s = &job->setup;
    char why[TG_ERR_MAX];
    const bool advised = bytes > train_memory_available(s); /* now, while the trainer has nothing */
    const tg_status status = tg_trainer_open(&job->trainer, &s->run, &s->batches, job->team, err);

    if (status != TG_ENOMEM || advised)
        return status;
    snprintf(why, sizeof why, "%s", err->message);
    return tg_fail(err, TG_ENOMEM, "%s; --recompute, or a smaller --batch with more --accumulate, needs less",
                   why);
}

/* The log is appended to, and a model replaced. */
static tg_status check_log(const struct job *job, const char *log, tg_err *err)
{
    const char *const models[] = {job->setup.stream ? NULL : job->setup.target,
                                  job->o->keep_best ? job->o->best : NULL};

    for (size_t i = 0; i < 2; i++) {
        bool same = false;
        const tg_status status = models[i] ? train_log_is(&same, log, models[i], err) : TG_OK;

        if (status)
            return status;
        if (same)
            return tg_fail(err, TG_EUSAGE, "%s: the log cannot be where the model is saved", models[i]);
    }
    return TG_OK;
}

/* Everything that may fail before the first step. */
static tg_status prepare(struct job *job, tg_err *err)
{
    train_setup *s = &job->setup;
    const char *log = job->team->rank == 0 ? job->o->log : NULL;
    const size_t passes = s->run.settings.accumulate;
    const bool probes = job->team->rank == 0 && job->o->probe_text;
    size_t more = 0, bytes;
    tg_status status;

    if (job->team->size > passes)
        return tg_fail(
            err, TG_EUSAGE,
            "%zu processes cannot share the %zu pass%s of a step: --accumulate must be at least %zu",
            job->team->size, passes, passes == 1 ? "" : "es", job->team->size);
    if ((log && (status = check_log(job, log, err))) ||
        (status = train_report_open(&job->report, &s->run.settings, s->run.step, log, err)) ||
        (probes && (status = train_snapshots_open(&job->snapshots, s, &more, err))) ||
        (status = train_memory_needed(s, more, &bytes, err)))
        return status;
    job->report.estimated = tg_plan_is_open(&s->run);
    train_setup_announce(s, more, bytes);
    if ((status = open_trainer(job, bytes, err)))
        return status;
    train_snapshots_say(&job->snapshots);
    if ((status = take_snapshot(job, err)))
        return status;
    return train_saving_begin(&job->saving, s, &job->trainer, err);
}

static tg_status work(struct job *job, tg_err *err)
{
    train_setup *s = &job->setup;
    tg_status status;

    if ((status = train_setup_load(s, job->o, job->team, err)))
        return status;
    if (s->complete)
        return job->team->rank == 0 ? already_complete(job, err) : TG_OK;
    if (!(status = team_settle(job->team, prepare(job, err), err))) {
        job->timing.before = s->run.seconds;
        tg_trainer_deal(&job->trainer);
        cli_catch_stop("finishing this step, then saving; again to stop now",
                       "abandoning this step, then saving those before it; again to end without saving");
        status = train(job, err);
    }
    if (train_log_close(&job->report.log, status ? NULL : err) && !status)
        status = TG_EIO;
    return status;
}

static tg_status run(const train_options *o, tg_err *err)
{
    struct job job = {.o = o, .setup = {.lock = {.fd = -1}}, .timing.began = cli_now()};
    tg_status status;

    job.watch = (tg_watch){watch, &job};
    if (!(status = team_begin_compute(&job.team, o->threads, err)))
        status = work(&job, err);
    status = team_settle(job.team, status, err);
    train_snapshots_close(&job.snapshots);
    tg_trainer_close(&job.trainer);
    train_setup_free(&job.setup);
    team_end();
    return status;
}

int main(int argc, char **argv)
{
    train_options o;
    tg_err err = {0};

    cli_init("tg-train");
    (void)team_recognize();
    if (train_options_parse(argc, argv, &o))
        return team_exit(CLI_USAGE);
    cli_may_write(train_target(&o));
    cli_may_write(o.keep_best ? o.best : NULL);
    cli_may_write(o.probe_text && (o.probe_dir || !cli_output_is_stream(train_target(&o))) ? o.snapshots
                                                                                           : NULL);
    cli_catch_status();
    o.available = tg_memory_available();
    if (team_confine(&err) || run(&o, &err))
        return team_exit(cli_report(&err));
    if (cli_stop_signal() != 0 && !team_follows())
        cli_raise(cli_stop_signal());
    return cli_close_stdout();
}
