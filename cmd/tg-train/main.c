/* tg-train: train a model on token archives. */
#include <math.h>
#include <string.h>

#include "cmd/tg-train/report.h"
#include "cmd/tg-train/saving.h"
#include "cmd/tg-train/snapshots.h"
#include "lib/base/choice.h"

/* ---- commands that a message suggests */

static void add_word(char command[TRAIN_COMMAND_SIZE], const char *word)
{
    cli_command_add(command, TRAIN_COMMAND_SIZE, word);
}

/* Add an option, unless its value is NULL. */
static void add_option(char command[TRAIN_COMMAND_SIZE], const char *option, const char *value)
{
    if (!value)
        return;
    add_word(command, option);
    add_word(command, value);
}

/* The command as it was given, for a run that was stopped. */
static void command_again(char command[TRAIN_COMMAND_SIZE], int argc, char **argv)
{
    *command = '\0';
    add_word(command, "tg-train");
    for (int i = 1; i < argc; i++)
        add_word(command, argv[i]);
}

/* One with another number of steps, for a complete run, which keeps its other settings. */
static void command_of_steps(char command[TRAIN_COMMAND_SIZE], const train_options *o, size_t steps)
{
    char number[24];
    bool dashed = false; /* a file looks like an option */

    *command = '\0';
    snprintf(number, sizeof number, "%zu", steps);
    add_word(command, "tg-train");
    add_option(command, "-m", o->model);
    add_option(command, "-o", o->output);
    add_option(command, "--steps", number);
    for (size_t i = 0; i < o->n_files; i++)
        dashed |= o->files[i][0] == '-' && !cli_is_dash(o->files[i]);
    if (dashed)
        add_word(command, "--");
    for (size_t i = 0; i < o->n_files; i++)
        add_word(command, o->files[i]);
}

/* ---- options */

/* Make the option for a setting that is saved with the run. */
static cli_option setting(train_options *o, char letter, tg_setting_id id, const char *metavar,
                          const char *help)
{
    cli_option option =
        cli_field_option(&tg_settings_fields.row[id], &o->asked, o->name[id], &o->given[id], metavar, help);

    option.letter = letter;
    return option;
}

/* Derive a name from the model's: NAME + suffix for NAME.npz, or for another NAME. */
static int name_after_model(char path[TRAIN_PATH_SIZE], const train_options *o, const char *suffix,
                            const char *option)
{
    const char *const target = train_target(o), *const ending = cli_ending(target);
    const size_t n = strlen(target) - (ending && strcmp(ending, "npz") == 0 ? strlen(".npz") : 0);

    if (n + strlen(suffix) >= TRAIN_PATH_SIZE)
        return cli_usage("the model's name is too long for --%s", option);
    memcpy(path, target, n);
    strcpy(path + n, suffix);
    return CLI_OK;
}

static int name_best(train_options *o)
{
    const char *const ending = cli_ending(train_target(o));

    return name_after_model(o->best, o, ending && strcmp(ending, "npz") == 0 ? ".best.npz" : ".best",
                            "keep-best");
}

/* A text to probe the model with is one of the built-in ones, by name, or any other. */
static int check_probe(train_options *o)
{
    if (!o->probe_text && (o->probe_dir || o->probe_every_given))
        return cli_usage("--%s goes with --probe", o->probe_dir ? "probe-dir" : "probe-every");
    if (!o->probe_text)
        return CLI_OK;
    if (*o->probe_text == '\0')
        return cli_usage("--probe must not be empty");
    if (o->probe_dir && cli_is_dash(o->probe_dir))
        return cli_usage("--probe-dir is a directory, not standard output");
    o->probe.has_probe = tg_choice_find(&o->probe.probe, TG_PROBES, o->probe_text);
    if (!o->probe.has_probe)
        o->probe.text = o->probe_text;
    if (!o->probe_dir)
        return name_after_model(o->snapshots, o, ".probe", "probe");
    if (strlen(o->probe_dir) >= sizeof o->snapshots)
        return cli_usage("--probe-dir is too long");
    strcpy(o->snapshots, o->probe_dir);
    return CLI_OK;
}

static int check(train_options *o)
{
    if (o->val && (o->given[TG_SET_VAL_FRACTION] || o->given[TG_SET_VAL_BLOCKS]))
        return cli_usage("--val names a separate text for validation: --%s does not apply",
                         o->name[o->given[TG_SET_VAL_FRACTION] ? TG_SET_VAL_FRACTION : TG_SET_VAL_BLOCKS]);
    if (o->keep_best && name_best(o))
        return CLI_USAGE;
    return check_probe(o);
}

static const cli_tool about = {
    .name = "tg-train",
    .usage = "[-m MODEL] [OPTION]... [TOKENS]...",
    .summary = "Train a model on token archives from standard input or files. A missing model is\n"
               "created. A run that was stopped continues when the same command is given again,\n"
               "also with -o.",
    .examples = "  $ tg-tokenize < text | tg-train\n"
                "  $ tg-tokenize text > tokens.npz\n"
                "  $ tg-train --steps 500 --lr 3e-4 --log log.tsv tokens.npz",
    .files = true,
};

static int parse(int argc, char **argv, train_options *o)
{
    cli_option options[] = {
        CLI_MODEL_OPTION('m', "model", &o->model, "FILE",
                         "the model to train; created if missing (default: $TG_MODEL, else model.npz)"),
        CLI_OUTPUT_OPTION('o', "output", &o->output, "FILE",
                          "save to FILE, and continue from it if it exists; '-' is standard output"),
        CLI_FLAG_OPTION(0, "force", &cli_force,
                        "with -o: do not continue from FILE but replace it, whatever it is"),
        setting(o, 'n', TG_SET_STEPS, "N",
                "total number of steps (default: 2000, or 4000 of a short context; fewer of a short text)"),
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
        CLI_INPUT_OPTION(0, "val", &o->val, "FILE",
                         "a token archive to validate on, in place of a share of the text"),
        setting(o, 0, TG_SET_VAL_FRACTION, "X", "share of the text, at its end, kept for validation"),
        setting(o, 0, TG_SET_VAL_BLOCKS, "N",
                "blocks of the text of which each keeps the share, at its end, for validation"),
        setting(o, 0, TG_SET_PRECISION, NULL,
                "type of activations between matrix products, which also round the weights to it; sums "
                "stay float32 (default: bf16 where the processor has instructions for it)"),
        setting(o, 's', TG_SET_SEED, "N",
                "seed for the order of the text, dropout, and a new model's weights"),
        CLI_SIZE_OPTION(0, "eval-every", &o->eval_every, "N", 0, TG_STEPS_MAX,
                        "steps between validations; 0 to validate only at the end"),
        CLI_SIZE_OPTION(0, "eval-tokens", &o->eval_tokens, "N", 0, 1e15, "tokens per validation; 0 for all"),
        CLI_SIZE_OPTION(0, "save-every", &o->save_every, "N", 0, TG_STEPS_MAX,
                        "steps between saves; 0 to save only at the end"),
        CLI_FLAG_OPTION(0, "keep-best", &o->keep_best,
                        "also keep the model with the least validation loss, as NAME.best.npz"),
        CLI_TEXT_OPTION(0, "probe", &o->probe_text, "TEXT",
                        "write dumps of the attention on TEXT as the model learns: snapshots, for "
                        "tg-attn-view; repeat, names and text are the texts of tg-attn-dump --probe"),
        CLI_SIZE_OPTION(0, "probe-every", &o->probe_every, "N", 0, TG_STEPS_MAX,
                        "steps between snapshots; 0 for only the first and the last",
                        .given = &o->probe_every_given),
        CLI_OUTPUT_OPTION(0, "probe-dir", &o->probe_dir, "DIR",
                          "the directory of the snapshots (default: NAME.probe of NAME.npz)"),
        CLI_APPEND_OPTION(0, "log", &o->log, "FILE", "append a line per step to FILE, as TSV"),
        CLI_FLAG_OPTION(
            0, "no-lock", &o->no_lock,
            "do not keep other runs away from the file that is saved to, where its file system has no locks"),
        CLI_THREADS(&o->threads, "the model"),
        {0},
    };
    cli_tool tool = about;
    int n;

    command_again(o->again, argc, argv); /* before the arguments are rearranged */
    tool.options = options;
    n = cli_parse(argc, argv, &tool);
    if (n < 0)
        return CLI_USAGE;
    o->files = argv + 1;
    o->n_files = (size_t)n;
    return check(o);
}

/* ---- a run */

struct job {
    const train_options *o;
    const tg_team *team;
    train_setup setup;
    tg_trainer trainer;
    train_saving saving;
    train_report report;
    train_snapshots snapshots;
    tg_watch watch; /* of a step or an evaluation */
    bool record_failed; /* what is written besides the model: the log, or a snapshot */
    bool compared; /* the first validation has been compared with training */
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

/* Writing the log or a snapshot failed: save the steps done so far. */
static void save_without_record(struct job *job)
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

    if (job->compared || job->o->val || isnan(train))
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

/* *best: the loss is less than all before. */
static tg_status evaluate(struct job *job, bool *best, tg_err *err)
{
    const size_t windows = tg_trainer_val_windows(&job->setup.batches, job->o->eval_tokens);
    train_report *r = &job->report;
    const double loss = tg_trainer_evaluate(&job->trainer, windows);

    if (job->trainer.pass.abandoned)
        return TG_OK;
    r->val_loss = loss;
    r->val_step = r->step;
    if (isfinite(r->val_loss)) {
        compare_losses(job);
        *best = job->o->keep_best && tg_run_note_val(&job->setup.run, loss);
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
    return status;
}

/* A line of the log, and a snapshot.  The run is saved if either fails, unless the model is a bad one. */
static tg_status record(struct job *job, tg_err *err)
{
    tg_status status = train_report_step(&job->report, err);

    if (!status)
        status = take_snapshot(job, err);
    job->record_failed = status && status != TG_EDATA;
    return status;
}

/* What is done after a step: evaluate, then log, then save.  In this order a saved step is in the log even if
 * the run is killed at any moment, and has its snapshot, and a bad model does not replace a good one. */
static tg_status after_step(struct job *job, tg_err *err)
{
    const train_options *o = job->o;
    train_report *r = &job->report;
    bool best = false;
    tg_status status = TG_OK;

    train_report_pause(r);
    if (job->setup.batches.val_windows > 0 && due(job, o->eval_every))
        status = evaluate(job, &best, err);
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
enum { GO_ON = 0, FAILED = 1000, RECORD_FAILED };

/* All members of a team stop at the same step, and for the same reason. */
static int agree(const struct job *job, tg_status status)
{
    const int own = job->record_failed ? RECORD_FAILED : status ? FAILED : cli_stop_signal();
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
    say_how_to_resume(job);
    return TG_OK;
}

static tg_status train(struct job *job, tg_err *err)
{
    const tg_run *run = &job->setup.run;
    tg_status status = TG_OK;
    int agreed;

    job->trainer.watch = &job->watch;
    job->report.start = cli_now();
    while ((agreed = agree(job, status)) == GO_ON && run->step < run->settings.steps) {
        status = one_step(job, err);
        if (cli_status_asked())
            train_report_say(&job->report);
    }
    cli_let_abandon(false);
    if (agreed == RECORD_FAILED)
        save_without_record(job);
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

    command_of_steps(command, job->o, 2 * step);
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
    size_t more = 0;
    tg_status status;

    if (job->team->size > passes)
        return tg_fail(
            err, TG_EUSAGE,
            "%zu processes cannot share the %zu pass%s of a step: --accumulate must be at least %zu",
            job->team->size, passes, passes == 1 ? "" : "es", job->team->size);
    if ((log && (status = check_log(job, log, err))) ||
        (status = train_report_open(&job->report, &s->run.settings, s->run.step, log, err)) ||
        (probes && (status = train_snapshots_open(&job->snapshots, s, &more, err))) ||
        (status = train_setup_announce(s, more, err)) || (status = open_trainer(job, err)))
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
    struct job job = {.o = o, .setup = {.lock = {.fd = -1}}};
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
        .probe_every = 250,
    };
    tg_err err = {0};

    hide_defaults(&o.asked);
    cli_init("tg-train");
    (void)team_recognize();
    if (parse(argc, argv, &o))
        return team_exit(CLI_USAGE);
    cli_may_write(train_target(&o));
    cli_may_write(o.keep_best ? o.best : NULL);
    cli_may_write(o.probe_text && (o.probe_dir || !cli_output_is_stream(train_target(&o))) ? o.snapshots : NULL);
    cli_catch_status();
    if (team_confine(&err) || run(&o, &err))
        return team_exit(cli_report(&err));
    if (cli_stop_signal() != 0 && !team_follows())
        cli_raise(cli_stop_signal());
    return cli_close_stdout();
}
