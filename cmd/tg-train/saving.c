#include "cmd/tg-train/saving.h"

#include <unistd.h>

/* ---- a file */

/* Another program has replaced the target, which is left to it: keep the model under another name. */
static tg_status save_elsewhere(train_saving *s, cli_output *out, const char *suffix, tg_err *err)
{
    char name[TG_ERR_MAX];

    s->elsewhere = true;
    if (tg_save_beside(&out->save, suffix, err))
        return tg_err_in(err, out->name);
    snprintf(name, sizeof name, "%s", out->save.target);
    if (cli_output_commit(out, err))
        return err->code;
    (void)tg_fail(err, TG_EIO, "another program has replaced it: step %s of this run is saved as %s",
                  cli_count(s->setup->run.step), name);
    return tg_err_in(err, s->setup->target);
}

/* Whether the target is neither the file that this run found or saved last, nor the one of a save that failed
 * when it was in its place. */
static bool is_replaced(const train_saving *s, const struct stat *now)
{
    return tg_path_is_replaced(&s->setup->stamp, now) && tg_path_is_replaced(&s->written, now);
}

static bool is_written(const train_saving *s, const struct stat *now)
{
    return now->st_mode != 0 && tg_path_same_file(now, &s->written);
}

/* Replace the target with what has been written.  last: if that is impossible, keep it under another name. */
static tg_status commit(train_saving *s, cli_output *out, bool last, tg_err *err)
{
    train_setup *setup = s->setup;
    char suffix[40];
    struct stat now;
    bool exists;
    tg_err ignored;
    tg_status status;

    if (setup->stream)
        return cli_output_commit(out, err);
    if ((status = tg_path_examine(setup->target, &now, &exists, err)))
        return status;
    snprintf(suffix, sizeof suffix, ".step-%zu", setup->run.step);
    if (is_replaced(s, &now))
        return save_elsewhere(s, out, suffix, err);
    if ((status = tg_path_examine(out->save.temp, &s->written, &exists, err)))
        return status;
    out->save.fallback = last ? suffix : NULL;
    out->save.fallback_used = &s->elsewhere;
    status = cli_output_commit(out, err);
    if (tg_path_examine(setup->target, &now, &exists, &ignored)) /* it cannot be examined now */
        now = status ? setup->stamp : s->written;
    s->in_place = status && is_written(s, &now);
    if (!status || s->in_place) {
        setup->stamp = now;
        s->kept = setup->run.step;
    }
    return status;
}

/* Write the run to the target, or to the best model's file. */
static tg_status write_run(train_saving *s, const char *path, bool last, tg_err *err)
{
    cli_output out;
    tg_status status = cli_output_begin(&out, path, CLI_OUT_RUN, err);

    if (status)
        return status;
    if (tg_run_write(&s->setup->run, out.fd, err))
        status = tg_err_in(err, out.name);
    else
        status = path == s->setup->target ? commit(s, &out, last, err) : cli_output_commit(&out, err);
    cli_output_abort(&out);
    return status;
}

/* All processes know whether the first one has saved. */
static tg_status save(train_saving *s, bool last, tg_err *err)
{
    const tg_team *team = s->setup->team;
    tg_status status = TG_OK;

    if (s->step == s->setup->run.step)
        return TG_OK;
    if (s->trainer)
        tg_trainer_collect(s->trainer);
    s->in_place = false;
    if (team->rank == 0)
        status = write_run(s, s->setup->target, last, err);
    if ((s->trainer ? tg_team_agree(team, (int)status) : (int)status) == TG_OK)
        s->step = s->setup->run.step;
    return status;
}

/* ---- what a failure leaves */

/* Add to the message of a save that failed what its file has now, and what follows. */
static void add_what_is_kept(const train_saving *s, bool last, tg_err *err)
{
    const char *const target = s->setup->target;
    char why[TG_ERR_MAX], kept[80] = "; no model is saved";
    const bool exists = s->kept != SIZE_MAX || access(target, F_OK) == 0;

    if (s->setup->stream || s->elsewhere || (last && s->in_place))
        return;
    if (s->kept != SIZE_MAX)
        snprintf(kept, sizeof kept, "; it keeps step %s", cli_count(s->kept));
    else if (exists)
        snprintf(kept, sizeof kept, "; it is unchanged");
    snprintf(why, sizeof why, "%s", err->message);
    snprintf(err->message, sizeof err->message, "%.350s%s%s", why, kept,
             !last    ? ", and the next save tries again"
             : exists ? "; rerun the command to resume from it"
                      : "");
}

tg_status train_save(train_saving *s, tg_err *err)
{
    const tg_status status = save(s, true, err);

    if (status == TG_EIO || status == TG_ENOMEM)
        add_what_is_kept(s, true, err);
    return status;
}

tg_status train_save_meanwhile(train_saving *s, tg_err *err)
{
    const tg_status status = save(s, false, err);

    if (!status || status == TG_EDATA || s->elsewhere)
        return status;
    add_what_is_kept(s, false, err);
    cli_say("%s", err->message);
    return TG_OK;
}

/* ---- the best model */

/* The file has the best model that the run knows of. */
static void note_best(train_saving *s)
{
    s->best_step = s->setup->run.best_step;
    s->best_loss = s->setup->run.best_loss;
}

static void say_best(const train_saving *s)
{
    cli_note("saved %s: of all validations after a step, that of step %s has the least loss, %.4f",
             s->setup->options->best, cli_count(s->best_step), s->best_loss);
}

/* The best model counts only if it has been written. */
static void forget_best(train_saving *s)
{
    s->setup->run.best_step = s->best_step;
    s->setup->run.best_loss = s->best_loss;
}

tg_status train_save_best(train_saving *s, tg_err *err)
{
    const tg_run *run = &s->setup->run;
    const tg_team *team = s->setup->team;
    const bool last = run->step == run->settings.steps;
    tg_status status = last ? train_save(s, err) : train_save_meanwhile(s, err);

    if (status || s->step != run->step) {
        forget_best(s);
        return status;
    }
    if (team->rank == 0)
        status = write_run(s, s->setup->options->best, false, err);
    if (tg_team_agree(team, (int)status) == TG_OK) {
        note_best(s);
        say_best(s);
        return TG_OK;
    }
    forget_best(s);
    if (status && !last && status != TG_EDATA) {
        cli_say("%s; the run continues, and this step does not count as the best", err->message);
        return TG_OK;
    }
    return status;
}

tg_status train_saving_begin(train_saving *s, train_setup *setup, tg_trainer *trainer, tg_err *err)
{
    tg_status status = TG_OK;

    *s = (train_saving){.setup = setup, .trainer = trainer, .step = SIZE_MAX, .kept = SIZE_MAX};
    note_best(s);
    if (!setup->best_is_lost)
        return TG_OK;
    if (setup->team->rank == 0 && !(status = write_run(s, setup->options->best, false, err)))
        say_best(s);
    return status;
}

/* ---- messages */

void train_say_saved(const train_saving *s)
{
    const tg_run *run = &s->setup->run;

    if (!cli_is_dash(s->setup->target))
        cli_note("saved %s at step %s of %s", s->setup->target, cli_count(run->step),
                 cli_count(run->settings.steps));
}

void train_say_what_remains(const train_saving *s)
{
    const char *target = s->setup->target;

    if (s->setup->stream || (s->kept == SIZE_MAX && access(target, F_OK) != 0))
        cli_say("stopped; no model was saved");
    else if (s->kept == SIZE_MAX)
        cli_say("stopped; %s is unchanged", target);
    else
        cli_say("stopped; %s keeps step %s", target, cli_count(s->kept));
}
