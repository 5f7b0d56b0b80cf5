/* tg-train: train a model on token archives. */
#include <math.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
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
        {'m', "model", CLI_TEXT, &o->model, "FILE",
         "the model to train; created if missing (default: $TG_MODEL, else model.npz)", 0, 0, NULL},
        {'o', "output", CLI_TEXT, &o->output, "FILE",
         "save to FILE, and continue from it if it exists; '-' is standard output", 0, 0, NULL},
        setting(o, 'n', TG_SET_STEPS, "N", "total number of steps, including those already done"),
        setting(o, 'b', TG_SET_BATCH, "N", "sequences per pass"),
        setting(o, 'c', TG_SET_CONTEXT, "N", "tokens per sequence; 0 for the model's context"),
        setting(o, 'a', TG_SET_ACCUMULATE, "N", "passes per step"),
        setting(o, 'l', TG_SET_LR, "X",
                "peak learning rate; wide models need less, about 6e-4 at GPT-2's size"),
        setting(o, 0, TG_SET_MIN_LR, "X", "final learning rate (default: a tenth of --lr)"),
        setting(o, 0, TG_SET_WARMUP, "N", "steps of linear warm-up"),
        setting(o, 0, TG_SET_BETA1, "X", "AdamW's decay rate of the first moment"),
        setting(o, 0, TG_SET_BETA2, "X", "AdamW's decay rate of the second moment"),
        setting(o, 0, TG_SET_WEIGHT_DECAY, "X", "AdamW's weight decay, applied to matrices only"),
        setting(o, 0, TG_SET_CLIP, "X", "maximum norm of the gradient; 0 for no limit"),
        setting(o, 0, TG_SET_DROPOUT, "P", "probability of dropping an activation"),
        setting(o, 0, TG_SET_VAL_FRACTION, "X", "share of the text, at its end, kept for validation"),
        setting(o, 0, TG_SET_PRECISION, NULL,
                "round the operands of matrix products to this type; sums stay float32"),
        setting(o, 's', TG_SET_SEED, "N",
                "seed for the order of the text, dropout, and a new model's weights"),
        {0, "eval-every", CLI_SIZE, &o->eval_every, "N",
         "steps between validations; 0 to validate only at the end", 0, 1e12, NULL},
        {0, "eval-tokens", CLI_SIZE, &o->eval_tokens, "N", "tokens per validation; 0 for all", 0, 1e15, NULL},
        {0, "save-every", CLI_SIZE, &o->save_every, "N", "steps between saves; 0 to save only at the end", 0,
         1e12, NULL},
        {0, "log", CLI_TEXT, &o->log, "FILE", "append a line per step to FILE, as TSV", 0, 0, NULL},
        {0, "threads", CLI_SIZE, &o->threads, "N",
         "number of threads, which does not change the model; 0 for one per processor", 0, 1024, NULL},
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
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    o->files = argv + 1;
    o->n_files = (size_t)n;
    return CLI_OK;
}

/* ---- saving */

struct job {
    const train_options *o;
    train_setup setup;
    tg_trainer trainer;
    train_report report;
    size_t saved_step; /* step of the last save; SIZE_MAX: none */
};

static tg_status save_model(struct job *job, tg_err *err)
{
    const tg_checkpoint *c = &job->setup.run;
    cli_output out;
    tg_status status;

    if (job->saved_step == c->step)
        return TG_OK;
    if ((status = cli_output_begin(&out, job->setup.target, true, err)))
        return status;
    if (tg_checkpoint_write(c, out.fd, err))
        status = tg_err_in(err, out.name);
    else
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    if (!status)
        job->saved_step = c->step;
    return status;
}

static void say_saved(const struct job *job)
{
    const tg_checkpoint *c = &job->setup.run;

    if (!cli_is_dash(job->setup.target))
        cli_say("saved %s at step %s of %s", job->setup.target, cli_count(c->step),
                cli_count(c->settings.steps));
}

/* The loss or a weight is not finite: report which model is left. */
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

    r->val_loss = tg_trainer_evaluate(&job->trainer, windows);
    r->val_step = r->step;
    if (isfinite(r->val_loss))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "step %zu: the validation loss is %g, expected a finite number", r->step,
                   fabs(r->val_loss));
}

static tg_status one_step(struct job *job, tg_err *err)
{
    const train_options *o = job->o;
    train_report *r = &job->report;
    tg_status status = tg_trainer_step(&job->trainer, &r->last, err);

    if (status)
        return status;
    r->step = job->setup.run.step;
    train_report_pause(r);
    if (job->setup.batches.val_windows > 0 && due(job, o->eval_every))
        status = evaluate(job, err); /* before saving: a bad model must not replace a good one */
    if (!status && o->save_every > 0 && due(job, o->save_every) && !job->setup.stream)
        status = save_model(job, err);
    train_report_resume(r);
    if (!status && (status = train_report_step(r, err)))
        save_without_log(job);
    return status;
}

/* All members of a team stop at the same step. */
static bool asked_to_stop(const struct job *job)
{
    const tg_team *team = job->trainer.team;

    return team->agree(team, cli_stop_signal()) != 0;
}

static tg_status train(struct job *job, tg_err *err)
{
    const tg_checkpoint *c = &job->setup.run;
    tg_status status = TG_OK;

    while (!status && c->step < c->settings.steps && !asked_to_stop(job)) {
        status = one_step(job, err);
        if (cli_status_asked())
            train_report_say(&job->report);
    }
    if (!status)
        status = save_model(job, err);
    if (status == TG_EDATA)
        say_what_remains(job);
    cli_progress_end();
    if (status)
        return status;
    train_report_conclude(&job->report);
    say_saved(job);
    return TG_OK;
}

/* Append the files to a command, after "--" if one of them looks like an option. */
static void add_files(char *line, size_t size, const train_options *o)
{
    bool dashed = false;

    for (size_t i = 0; i < o->n_files; i++)
        dashed |= o->files[i][0] == '-' && !cli_is_dash(o->files[i]);
    if (dashed)
        cli_command_add(line, size, "--");
    for (size_t i = 0; i < o->n_files; i++)
        cli_command_add(line, size, o->files[i]);
}

/* The command that continues a complete run, with twice its steps. */
static void format_command(char *line, size_t size, const struct job *job)
{
    const train_options *o = job->o;
    char steps[24];

    *line = '\0';
    cli_command_add(line, size, "tg-train");
    if (o->model) {
        cli_command_add(line, size, "-m");
        cli_command_add(line, size, o->model);
    }
    if (o->output) {
        cli_command_add(line, size, "-o");
        cli_command_add(line, size, o->output);
    }
    snprintf(steps, sizeof steps, "%zu", 2 * job->setup.run.step);
    cli_command_add(line, size, "--steps");
    cli_command_add(line, size, steps);
    add_files(line, size, o);
}

/* The run is complete: say so, and how to continue.  If the target is another file, write the model
 * there unchanged. */
static tg_status already_complete(struct job *job, tg_err *err)
{
    const train_setup *s = &job->setup;
    char command[1024];
    tg_status status;

    format_command(command, sizeof command, job);
    cli_say("%s is complete: %s of %s steps are done; to continue: %s", cli_input_name(s->source),
            cli_count(s->run.step), cli_count(s->steps), command);
    if (s->source == s->target && !cli_is_dash(s->target))
        return TG_OK;
    if (!(status = save_model(job, err)))
        say_saved(job);
    return status;
}

static tg_status work(struct job *job, tg_err *err)
{
    train_setup *s = &job->setup;
    tg_status status;

    if ((status = train_setup_load(s, job->o, err)))
        return status;
    if (s->complete)
        return already_complete(job, err);
    if ((status = train_report_open(&job->report, &s->run.settings, s->run.step, job->o->log, err)))
        return status;
    if (!(status = train_setup_announce(s, err)) &&
        !(status = tg_trainer_open(&job->trainer, &s->run, &s->batches, &tg_team_alone, err))) {
        cli_catch_stop();
        train_report_begin(&job->report);
        status = train(job, err);
    }
    if (train_report_close(&job->report, status ? NULL : err) && !status)
        status = TG_EIO;
    return status;
}

static tg_status run(const train_options *o, tg_err *err)
{
    struct job job = {.o = o, .saved_step = SIZE_MAX};
    tg_status status;

    if ((status = cli_begin_compute(o->threads, err)))
        return status;
    status = work(&job, err);
    tg_trainer_close(&job.trainer);
    train_setup_free(&job.setup);
    return status;
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

    o.asked.min_lr = -1; /* no default to show: it follows --lr */
    cli_init("tg-train");
    cli_init_threads(argv);
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    cli_catch_status();
    if (run(&o, &err))
        return cli_report(&err);
    if (cli_stop_signal() != 0)
        cli_raise(cli_stop_signal());
    return cli_close_stdout();
}
