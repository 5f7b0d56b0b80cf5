/* tg-train: train a model on token archives. */
#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-train/command.h"
#include "cmd/tg-train/log.h"
#include "cmd/tg-train/report.h"
#include "cmd/tg-train/setup.h"

/* ---- options */

/* Make the option for a setting that is saved with the run. */
static cli_option setting(train_options *o, char letter, tg_setting_id id, const char *metavar,
                          const char *help)
{
    cli_option option = cli_field_option(&tg_settings_fields.row[id], &o->asked, metavar, o->name[id]);

    option.letter = letter;
    option.help = help;
    option.given = &o->given[id];
    return option;
}

static int parse(int argc, char **argv, train_options *o)
{
    cli_option options[] = {
        {'m', "model", CLI_MODEL, &o->model, "FILE",
         "the model to train; created if missing (default: $TG_MODEL, else model.npz)", 0, 0, NULL},
        {'o', "output", CLI_OUTPUT, &o->output, "FILE",
         "save to FILE, and continue from it if it exists; '-' is standard output", 0, 0, NULL},
        {0, "force", CLI_FLAG, &cli_force, NULL,
         "with -o: do not continue from FILE but replace it, whatever it is", 0, 0, NULL},
        setting(o, 'n', TG_SET_STEPS, "N",
                "total number of steps (default: 2000, or 4000 of a short context)"),
        setting(o, 'b', TG_SET_BATCH, "N", "sequences per pass"),
        setting(o, 'c', TG_SET_CONTEXT, "N", "tokens per sequence; 0 for the model's context"),
        setting(o, 'a', TG_SET_ACCUMULATE, "N", "passes per step"),
        setting(o, 'l', TG_SET_LR, "X", "peak learning rate (default: 0.004 or less, see tg-train(1))"),
        setting(o, 0, TG_SET_MIN_LR, "X", "final learning rate (default: a tenth of --lr)"),
        setting(o, 0, TG_SET_WARMUP, "N", "steps of warm-up (default: a tenth, at most 100)"),
        setting(o, 0, TG_SET_BETA1, "X", "AdamW's decay rate of the first moment"),
        setting(o, 0, TG_SET_BETA2, "X", "AdamW's decay rate of the second moment"),
        setting(o, 0, TG_SET_WEIGHT_DECAY, "X", "AdamW's weight decay, applied to matrices only"),
        setting(o, 0, TG_SET_CLIP, "X", "maximum norm of the gradient; 0 for no limit"),
        setting(o, 0, TG_SET_DROPOUT, "P", "probability of dropping an activation"),
        setting(o, 0, TG_SET_VAL_FRACTION, "X", "share of the text, at its end, kept for validation"),
        setting(o, 0, TG_SET_PRECISION, NULL,
                "type of activations between matrix products, which round the weights to it, too; sums "
                "stay float32 (default: bf16 where the processor has instructions for it)"),
        setting(o, 's', TG_SET_SEED, "N",
                "seed for the order of the text, dropout, and a new model's weights"),
        {0, "eval-every", CLI_SIZE, &o->eval_every, "N",
         "steps between validations; 0 to validate only at the end", 0, TG_STEPS_MAX, NULL},
        {0, "eval-tokens", CLI_SIZE, &o->eval_tokens, "N", "tokens per validation; 0 for all", 0, 1e15, NULL},
        {0, "save-every", CLI_SIZE, &o->save_every, "N", "steps between saves; 0 to save only at the end", 0,
         TG_STEPS_MAX, NULL},
        {0, "log", CLI_APPEND, &o->log, "FILE", "append a line per step to FILE, as TSV", 0, 0, NULL},
        {0, "no-lock", CLI_FLAG, &o->no_lock, NULL,
         "do not keep other runs away from the file that is saved to, where its file system has no locks", 0,
         0, NULL},
        CLI_THREADS(&o->threads, "the model"),
        {0},
    };
    const cli_tool tool = {
        .name = "tg-train",
        .usage = "[-m MODEL] [OPTION]... [TOKENS]...",
        .summary = "Train a model on token archives from standard input or files. A missing model is\n"
                   "created. A run that was stopped continues when the same command is given again,\n"
                   "also with -o.",
        .examples = "  $ tg-tokenize < text | tg-train\n"
                    "  $ tg-tokenize text > tokens.npz\n"
                    "  $ tg-train --steps 500 --lr 3e-4 --log log.tsv tokens.npz",
        .options = options,
        .files = true,
    };
    int n;

    train_command_again(o->again, argc, argv); /* before the arguments are rearranged */
    n = cli_parse(argc, argv, &tool);
    if (n < 0)
        return CLI_USAGE;
    o->files = argv + 1;
    o->n_files = (size_t)n;
    return CLI_OK;
}

/* ---- saving */

struct job {
    const train_options *o;
    const tg_team *team;
    train_setup setup;
    tg_trainer trainer;
    train_report report;
    tg_watch watch;    /* of a step or an evaluation */
    size_t saved_step; /* step of the last save; SIZE_MAX: none */
    bool log_failed;
};

/* Another program has replaced the target, which is left to it: keep the model beside it. */
static tg_status save_beside(struct job *job, cli_output *out, const char *suffix, tg_err *err)
{
    char name[TG_ERR_MAX];

    if (tg_save_beside(&out->save, suffix, err))
        return tg_err_in(err, out->name);
    snprintf(name, sizeof name, "%s", out->save.target);
    if (cli_output_commit(out, err))
        return err->code;
    (void)tg_fail(err, TG_EIO, "another program has replaced it: step %s of this run is saved as %s",
                  cli_count(job->setup.run.step), name);
    return tg_err_in(err, job->setup.target);
}

/* Replace the target with what has been written. */
static tg_status commit(struct job *job, cli_output *out, tg_err *err)
{
    train_setup *s = &job->setup;
    char suffix[40];
    tg_stamp now;
    tg_status status;

    if (s->stream)
        return cli_output_commit(out, err);
    if ((status = tg_stamp_take(&now, s->target, err)))
        return status;
    snprintf(suffix, sizeof suffix, ".step-%zu", s->run.step);
    if (tg_stamp_replaced(&s->stamp, &now))
        return save_beside(job, out, suffix, err);
    out->save.spare = suffix;
    status = cli_output_commit(out, err);
    return status ? status : tg_stamp_take(&s->stamp, s->target, err);
}

static tg_status write_model(struct job *job, tg_err *err)
{
    cli_output out;
    tg_status status;

    if ((status = cli_output_begin(&out, job->setup.target, CLI_OUT_RUN, err)))
        return status;
    if (tg_checkpoint_write(&job->setup.run, out.fd, err))
        status = tg_err_in(err, out.name);
    else
        status = commit(job, &out, err);
    cli_output_abort(&out);
    return status;
}

/* All processes do this together, and the first one writes. */
static tg_status save_model(struct job *job, tg_err *err)
{
    const tg_checkpoint *c = &job->setup.run;
    tg_status status = TG_OK;

    if (job->saved_step == c->step)
        return TG_OK;
    if (job->trainer.team)
        tg_trainer_collect(&job->trainer);
    if (job->team->rank == 0)
        status = write_model(job, err);
    if (!status)
        job->saved_step = c->step;
    return status;
}

static void say_saved(const struct job *job)
{
    const tg_checkpoint *c = &job->setup.run;

    if (!cli_is_dash(job->setup.target))
        cli_note("saved %s at step %s of %s", job->setup.target, cli_count(c->step),
                 cli_count(c->settings.steps));
}

/* How to finish a run that was stopped and whose model is in a file. */
static void say_how_to_go_on(const struct job *job)
{
    const tg_checkpoint *c = &job->setup.run;

    if (job->setup.stream || c->step == c->settings.steps)
        return;
    cli_note("to go on%s: %s",
             train_text_is_stdin(job->o)
                 ? ", repeat the whole command, with what writes the tokens to standard input"
                 : "",
             job->o->again);
}

/* The run has ended early, before its first save or because the loss or a weight is not finite:
 * report which model is left. */
static void say_what_remains(const struct job *job)
{
    const char *target = job->setup.target;

    if (job->setup.stream || (job->saved_step == SIZE_MAX && access(target, F_OK) != 0))
        cli_say("stopped; no model was saved");
    else if (job->saved_step == SIZE_MAX)
        cli_say("stopped; %s is unchanged", target);
    else
        cli_say("stopped; %s keeps step %s", target, cli_count(job->saved_step));
}

/* Writing the log failed: save the steps done so far. */
static void save_without_log(struct job *job)
{
    tg_err err = {0};

    if (save_model(job, &err))
        cli_say("%s", err.message);
    else
        say_saved(job);
}

/* ---- training */

/* Whether an action that is taken every `every` steps is due; 0: only at the end. */
static bool due(const struct job *job, size_t every)
{
    const size_t step = job->setup.run.step;

    return step == job->setup.run.settings.steps || (every > 0 && step % every == 0);
}

static tg_status evaluate(struct job *job, tg_err *err)
{
    const size_t windows = tg_trainer_val_windows(&job->setup.batches, job->o->eval_tokens);
    train_report *r = &job->report;
    const double loss = tg_trainer_evaluate(&job->trainer, windows);

    if (job->trainer.pass.abandoned)
        return TG_OK;
    r->val_loss = loss;
    r->val_step = r->step;
    if (isfinite(r->val_loss))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "step %zu: the validation loss is %g, expected a finite number", r->step,
                   fabs(r->val_loss));
}

/* A step or an evaluation has come so far. */
static bool watch(void *context, double share)
{
    struct job *job = context;

    train_report_part(&job->report, share);
    if (cli_status_asked())
        train_report_say(&job->report);
    return !cli_abandon_asked();
}

/* What is done after a step: evaluate, then log, then save.  In this order a saved step is in the log even if
 * the run is killed at any moment, and a bad model does not replace a good one. */
static tg_status after_step(struct job *job, tg_err *err)
{
    const train_options *o = job->o;
    train_report *r = &job->report;
    tg_status status = TG_OK;

    train_report_pause(r);
    if (job->setup.batches.val_windows > 0 && due(job, o->eval_every))
        status = evaluate(job, err);
    cli_let_abandon(false);
    train_report_resume(r);
    if (status)
        return status;
    if ((status = train_report_step(r, err)))
        job->log_failed = true;
    if (o->save_every == 0 || !due(job, o->save_every) || job->setup.stream)
        return status;
    if (tg_team_agree(job->team, (int)status) != TG_OK) /* the first process alone has a log */
        return status;
    train_report_pause(r);
    status = save_model(job, err);
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

/* Save and report what was done.  A step that was abandoned may have been the first: then a file stays
 * as it is. */
static tg_status conclude(struct job *job, tg_err *err)
{
    const bool nothing = job->setup.run.step == job->report.first && !job->setup.stream;
    tg_status status = nothing ? TG_OK : save_model(job, err);

    cli_progress_end();
    if (status == TG_EDATA || nothing)
        say_what_remains(job);
    if (status)
        return status;
    train_report_conclude(&job->report);
    if (!nothing)
        say_saved(job);
    say_how_to_go_on(job);
    return TG_OK;
}

static tg_status train(struct job *job, tg_err *err)
{
    const tg_checkpoint *c = &job->setup.run;
    tg_status status = TG_OK;
    int agreed;

    job->trainer.watch = &job->watch;
    train_report_begin(&job->report);
    while ((agreed = agree(job, status)) == GO_ON && c->step < c->settings.steps) {
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
        say_what_remains(job);
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

    train_command_steps(command, job->o, 2 * step);
    if (s->steps < step)
        cli_note("%s is complete: %s steps are done, --steps asks for %s; to continue: %s",
                 cli_input_name(s->source), cli_count(step), cli_count(s->steps), command);
    else
        cli_note("%s is complete: %s of %s steps are done; to continue: %s", cli_input_name(s->source),
                 cli_count(step), cli_count(s->steps), command);
    if (s->source == s->target && !cli_is_dash(s->target))
        return TG_OK;
    if (!(status = save_model(job, err)))
        say_saved(job);
    return status;
}

/* What a step takes depends on what was asked for. */
static tg_status open_trainer(struct job *job, tg_err *err)
{
    train_setup *s = &job->setup;
    char why[TG_ERR_MAX];
    const tg_status status = tg_trainer_open(&job->trainer, &s->run, &s->batches, job->team, err);

    if (status != TG_ENOMEM)
        return status;
    snprintf(why, sizeof why, "%s", err->message);
    return tg_fail(err, TG_ENOMEM, "%s; a smaller --batch, with more --accumulate, needs less", why);
}

/* Everything that may fail before the first step. */
static tg_status prepare(struct job *job, tg_err *err)
{
    train_setup *s = &job->setup;
    const char *log = job->team->rank == 0 ? job->o->log : NULL;
    const size_t passes = s->run.settings.accumulate;
    bool same = false;
    tg_status status;

    if (job->team->size > passes)
        return tg_fail(
            err, TG_EUSAGE,
            "%zu processes cannot share the %zu pass%s of a step: --accumulate must be at least %zu",
            job->team->size, passes, passes == 1 ? "" : "es", job->team->size);
    if (log && !s->stream && (status = train_log_is(&same, log, s->target, err)))
        return status;
    if (same)
        return tg_fail(err, TG_EUSAGE, "%s: the log cannot be where the model is saved", s->target);
    if ((status = train_report_open(&job->report, &s->run.settings, s->run.step, log, err)) ||
        (status = train_setup_announce(s, err)))
        return status;
    return open_trainer(job, err);
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
        tg_trainer_deal(&job->trainer);
        cli_catch_stop("finishing this step, then saving; again to stop now",
                       "abandoning this step, then saving those before it; again to end without saving");
        status = train(job, err);
    }
    if (train_report_close(&job->report, status ? NULL : err) && !status)
        status = TG_EIO;
    return status;
}

static tg_status run(const train_options *o, tg_err *err)
{
    struct job job = {.o = o, .setup = {.lock = {.fd = -1}}, .saved_step = SIZE_MAX};
    tg_status status;

    job.watch = (tg_watch){watch, &job};
    if (!(status = team_begin_compute(&job.team, o->threads, err)))
        status = work(&job, err);
    status = team_settle(job.team, status, err);
    tg_trainer_close(&job.trainer);
    train_setup_free(&job.setup);
    team_end();
    return status;
}

/* No default to show for what lib/train/recipe.h chooses, and for what follows --lr. */
static void hide_defaults(tg_settings *s)
{
    s->steps = 0;
    s->warmup = SIZE_MAX;
    s->lr = s->min_lr = -1;
    s->precision = (tg_precision)-1;
}

int main(int argc, char **argv)
{
    train_options o = {
        .asked = tg_settings_default(),
        .eval_every = 250,
        .eval_tokens = 32768,
        .save_every = 500,
    };
    tg_err err = {0};

    hide_defaults(&o.asked);
    cli_init("tg-train");
    (void)team_recognize();
    if (parse(argc, argv, &o))
        return team_exit(CLI_USAGE);
    cli_may_write(o.output ? o.output : cli_model_path(o.model));
    cli_catch_status();
    if (team_confine(&err) || run(&o, &err))
        return team_exit(cli_report(&err));
    if (cli_stop_signal() != 0 && !team_follows())
        cli_raise(cli_stop_signal());
    return cli_close_stdout();
}
