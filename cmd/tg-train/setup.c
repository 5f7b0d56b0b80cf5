#include "cmd/tg-train/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/model.h"
#include "cmd/tg-train/speed.h"
#include "formats/archive.h"
#include "formats/format.h"
#include "formats/path.h"
#include "formats/source.h"
#include "lib/base/size.h"
#include "lib/gpt/freeze.h"
#include "lib/train/plan.h"
#include "lib/train/recipe.h"
#include "lib/train/text_length.h"

/* ---- the text */

/* The most common mistake: text instead of tokens. */
static tg_status suggest_tokenize(const char *path, tg_err *err)
{
    char command[TRAIN_COMMAND_SIZE] = "";

    cli_command_add(command, sizeof command, cli_is_dash(path) ? "text" : path);
    if (cli_is_json_lines(path))
        return tg_fail(
            err, TG_EDATA,
            "JSON lines, expected a token archive; try  tg-tokenize -m MODEL --chat %s | tg-train, "
            "or --prompt-completion for pairs",
            command);
    return tg_fail(err, TG_EDATA, "plain text, expected a token archive; try  tg-tokenize %s%s | tg-train",
                   cli_is_dash(path) ? "< " : "", command);
}

/* prefix: "" or "empty: ", which is what cron and a pipeline that failed leave on standard input. */
static tg_status no_tokens(const char *prefix, tg_err *err)
{
    return tg_fail(err, TG_EUSAGE, "%sno tokens: try  tg-tokenize < text | tg-train", prefix);
}

static tg_status load_source(tg_tokens *tokens, tg_source *source, const char *path, tg_err *err)
{
    tg_status status = tg_source_peek(source, TG_FORMAT_BYTES, err);

    if (status)
        return status;
    if (source->ready == 0 && cli_is_dash(path))
        return no_tokens("empty: ", err);
    if (tg_format_recognize(source->next, source->ready) == TG_FORMAT_TEXT)
        return suggest_tokenize(path, err);
    return tg_tokens_load_source(tokens, source, SIZE_MAX, err);
}

/* Standard input is the first process's: the others get what comes in there. */
static tg_status open_text(const train_setup *s, int *fd, const char *path, tg_err *err)
{
    if (s->team->size > 1 && cli_is_dash(path))
        return team_spool(s->team, fd, err);
    return cli_open_input(fd, path, err);
}

static tg_status load_file(train_setup *s, tg_tokens *tokens, const char *path, tg_err *err)
{
    tg_source source;
    int fd;
    tg_status status = open_text(s, &fd, path, err);

    if (status) {
        cli_close_input(fd);
        return status;
    }
    if (!(status = tg_source_open_unmapped(&source, fd, err))) {
        status = load_source(tokens, &source, path, err);
        tg_source_close(&source);
    }
    cli_close_input(fd);
    return status ? tg_err_in(err, cli_input_name(path)) : TG_OK;
}

static bool val_is_stdin(const train_options *o)
{
    return o->val && cli_is_dash(o->val);
}

static bool training_text_is_stdin(const train_options *o)
{
    for (size_t i = 0; i < o->n_files; i++)
        if (cli_is_dash(o->files[i]))
            return true;
    return o->n_files == 0;
}

bool train_text_is_stdin(const train_options *o)
{
    return training_text_is_stdin(o) || val_is_stdin(o);
}

static tg_status check_stdin(const train_options *o, tg_err *err)
{
    if (val_is_stdin(o) && training_text_is_stdin(o))
        return tg_fail(err, TG_EUSAGE, "standard input is the text: give --val as a file");
    if (cli_is_dash(cli_model_path(o->model)) && train_text_is_stdin(o))
        return tg_fail(err, TG_EUSAGE, "standard input is the model: give the tokens as files");
    if (o->n_files == 0 && isatty(STDIN_FILENO))
        return no_tokens("", err);
    return TG_OK;
}

static tg_status load_text(train_setup *s, tg_err *err)
{
    const train_options *o = s->options;
    tg_status status = team_settle(s->team, s->team->rank == 0 ? check_stdin(o, err) : TG_OK, err);

    if (!status && o->n_files == 0)
        status = team_settle(s->team, load_file(s, &s->tokens, "-", err), err);
    for (size_t i = 0; !status && i < o->n_files; i++)
        status = team_settle(s->team, load_file(s, &s->tokens, o->files[i], err), err);
    if (!status && o->val)
        status = team_settle(s->team, load_file(s, &s->val, o->val, err), err);
    return status;
}

/* ---- the model */

/* What fits into the minutes that the run is to take. */
static tg_status measure(train_setup *s, tg_err *err)
{
    double per_second;
    tg_status status;

    if (s->options->minutes <= 0)
        return TG_OK;
    status = train_speed(&per_second, err);
    s->operations = status ? 0 : 60 * s->options->minutes * per_second * (double)s->team->size;
    return status;
}

static tg_status new_model(train_setup *s, tg_err *err)
{
    const tg_settings *asked = &s->options->asked;
    const tg_held_out held_out = {asked->val_fraction, asked->val_blocks, s->options->val ? &s->val : NULL};
    tg_config config = s->options->minutes > 0 ? tg_recipe_timed_config(&s->tokens, held_out, s->operations)
                                               : tg_recipe_config(s->tokens.tokenizer);
    tg_model model;
    tg_status status;

    if (asked->context > 0)
        config.n_ctx = asked->context;
    /* check the text first: it may be too short for a context that needs much memory */
    if ((status = tg_batches_init(&s->batches, &s->tokens, 0, config.n_ctx, true, (tg_held_out){0, 1, NULL},
                                  err)) ||
        (status = tg_model_create(&model, &config, s->tokens.tokenizer, asked->seed, err)))
        return status;
    tg_batches_free(&s->batches);
    s->is_new = true;
    return tg_run_begin(&s->run, &model, err);
}

/* Another project's model is where a run begins; its files are never written. */
static tg_status load_foreign(train_setup *s, tg_err *err)
{
    tg_model_file f;
    tg_model model;
    tg_status status;

    if (strcmp(s->source, s->target) != 0) {
        status = cli_model_convert(&model, s->source, err);
        return status ? status : tg_run_begin(&s->run, &model, err);
    }
    if ((status = tg_model_file_open(&f, s->source, NULL, err))) /* such as a directory without one */
        return status;
    tg_model_file_close(&f);
    return tg_fail(err, TG_EUSAGE,
                   "%s: another project's model, which is not overwritten: name the new one with -o FILE",
                   s->source);
}

/* There is no such file: a new model is made, unless the name was meant for one that is there. */
static tg_status missing_model(train_setup *s, tg_err *err)
{
    const tg_err why = *err;
    const char *ending = cli_ending(s->source);

    if (ending && strcmp(ending, "npz") == 0)
        return new_model(s, err);
    return tg_fail(err, why.code, "%s; a new model needs a name that ends in .npz", why.message);
}

static tg_status load_model(train_setup *s, tg_err *err)
{
    int fd;
    tg_status status;

    if (train_wants_adapter(s->options))
        return train_adapter_load(s, err);
    if ((status = cli_model_is_foreign(s->source, &s->foreign, err)))
        return status;
    if (s->foreign)
        return load_foreign(s, err);
    if ((status = cli_open_input(&fd, s->source, err)))
        return err->sys == ENOENT ? missing_model(s, err) : status;
    status = tg_run_read(&s->run, fd, err);
    cli_close_input(fd);
    if (status && cli_is_adapter(s->source))
        (void)tg_fail(err, TG_EUSAGE,
                      "an adapter: the model that it is for is named with -m, and --lora says that it is "
                      "continued");
    return status ? tg_err_in(err, cli_input_name(s->source)) : TG_OK;
}

/* ---- the run */

/* Leave the parameters as they are that --freeze names. */
static tg_status freeze(train_setup *s, tg_err *err)
{
    const tg_params *table = &s->run.model.table;
    unsigned char *frozen;
    tg_status status;

    if (!s->options->freeze)
        return TG_OK;
    frozen = malloc(table->n);
    if (!frozen)
        return tg_fail_memory(err, table->n, "the frozen parameters");
    if (!(status = tg_freeze_find(frozen, table, s->options->freeze, err)) &&
        (status = tg_run_freeze(&s->run, frozen, err)) == TG_EUSAGE) {
        const tg_err why = *err;

        (void)tg_fail(
            err, TG_EUSAGE,
            "%s: leave it out to continue, or begin with a model without a run: tg-convert %s -o NEW.npz",
            why.message, s->source);
    }
    free(frozen);
    return status ? tg_err_in(err, "--freeze") : TG_OK;
}

/* Report the settings of a resumed run that change, --min-lr also when it follows --lr. */
static void say_changes(const tg_settings *old, const tg_settings *new, const train_options *o)
{
    char before[32], now[32];

    for (size_t i = 0; i < TG_SETTINGS; i++) {
        const tg_field *f = &tg_settings_fields.row[i];

        if (tg_field_equal(f, old, new))
            continue;
        tg_field_text(before, sizeof before, f, old);
        tg_field_text(now, sizeof now, f, new);
        cli_note("--%s was %s, is now %s%s", o->name[i], before, now,
                 i == TG_SET_MIN_LR && !o->given[i] ? ", a tenth of --lr" : "");
    }
}

/* Whether the steps of a run have been fixed by its plan: the learning rate falls. */
static bool plan_is_fixed(const tg_run *run)
{
    return run->settings.decay > 0 && run->step + run->settings.decay >= run->settings.steps;
}

/* What --minutes, or in its place --steps or --decay, means for the run. */
static tg_status choose_plan(train_setup *s, tg_err *err)
{
    const train_options *o = s->options;
    tg_run *run = &s->run;

    if (o->given[TG_SET_STEPS] || o->given[TG_SET_DECAY]) {
        const size_t steps = o->given[TG_SET_STEPS] ? o->asked.steps : run->settings.steps;

        tg_plan_close(run, steps, o->given[TG_SET_DECAY] ? o->asked.decay : tg_recipe_decay(steps));
    } else if (o->minutes > 0 && run->step == 0) {
        tg_plan_open(run, o->minutes);
        run->operations = s->operations;
    } else if (o->minutes > 0 && tg_plan_is_open(run)) {
        run->minutes = o->minutes;
    } else if (o->minutes > 0 && run->step < run->settings.steps && !plan_is_fixed(run)) {
        return tg_fail(err, TG_EUSAGE, "the run has %zu steps: --minutes is for a new one",
                       run->settings.steps);
    }
    if (tg_plan_is_open(run) && o->asked.average > 0)
        return tg_fail(err, TG_EUSAGE, "--minutes chooses the length of the mean: --%s is %zu, expected 0",
                       o->name[TG_SET_AVERAGE], o->asked.average);
    return TG_OK;
}

/* The tokens of a file must be the model's. */
static tg_status check_tokenizer(const train_setup *s, const tg_tokens *tokens, const char *path, tg_err *err)
{
    const train_options *o = s->options;
    const char *text = o->n_files > 0 ? o->files[0] : "-";
    const char *model = s->run.adapter ? cli_model_path(o->model) : s->is_new ? text : s->source;
    const tg_status status = tg_tokenizer_same(s->run.model.tokenizer, tokens->tokenizer, err);
    const tg_err why = *err;
    char command[TRAIN_COMMAND_SIZE] = "";

    if (!status)
        return TG_OK;
    cli_command_add(command, sizeof command, model);
    (void)tg_fail(err, status, "%s, that of %s; tg-tokenize -%c %s makes such tokens of a text", why.message,
                  cli_input_name(model), s->is_new ? 't' : 'm', command);
    return tg_err_in(err, cli_input_name(path));
}

static tg_status choose_settings(train_setup *s, tg_err *err)
{
    const tg_settings saved = s->run.settings;
    const train_options *o = s->options;
    const size_t n_ctx = s->run.model.config.n_ctx;
    tg_settings asked = o->asked;
    bool given[TG_SETTINGS];
    size_t tokens;
    tg_status status = check_tokenizer(s, &s->tokens, o->n_files > 0 ? o->files[0] : "-", err);

    if (status || (o->val && (status = check_tokenizer(s, &s->val, o->val, err))))
        return status;
    if (o->asked.context > n_ctx)
        return tg_fail(err, TG_EUSAGE, "--context %zu exceeds the model's %zu; " CLI_LONGER_CONTEXT,
                       o->asked.context, n_ctx);
    s->origin = tg_recipe_origin(&s->run.model);
    memcpy(given, o->given, sizeof given);
    if ((status =
             tg_run_text_length(&s->run, &tokens, &asked, given, &s->tokens, o->val ? &s->val : NULL, err)) ||
        (status = choose_plan(s, err)))
        return status;
    if (tg_run_resume(&s->run, tokens, &asked, given, &s->steps, err))
        return err->code = TG_EUSAGE; /* the file was checked on reading, so the options are at fault */
    s->complete = s->run.step >= s->steps;
    s->other_split =
        !tg_field_equal(&tg_settings_fields.row[TG_SET_VAL_FRACTION], &saved, &s->run.settings) ||
        saved.val_blocks != s->run.settings.val_blocks;
    if (!s->complete && s->run.step > 0)
        say_changes(&saved, &s->run.settings, o);
    return TG_OK;
}

/* what: "the text".  Both have tokens. */
static void say_text(const char *what, tg_text_change change, size_t before, size_t now)
{
    if (change == TG_TEXT_OTHER_LENGTH)
        cli_say("%s differs from the run's: %s tokens, %s before", what, cli_count(now), cli_count(before));
    if (change == TG_TEXT_OTHER)
        cli_say("%s differs from the run's: other tokens, the same number", what);
}

static void say_val(const train_setup *s, tg_text_change change, size_t before)
{
    if (change == TG_TEXT_SAME || (before > 0 && s->options->val))
        say_text("the validation text", change, before, s->val.count);
    else if (s->options->val)
        cli_say(
            "the run validates on %s from now on, and trains on all of its text; a part was held out before",
            cli_input_name(s->options->val));
    else
        cli_say("the run validated on a separate text of %s tokens; without --val, a part of its text is "
                "held out from now on",
                cli_count(before));
}

/* The losses before are of another text: they are not compared with those to come. */
static void forget_best(train_setup *s)
{
    if (s->run.best_step > 0 && s->options->keep_best)
        cli_say("%s is the best model of another validation text: the next one replaces it",
                s->options->best);
    s->run.best_step = 0;
    s->run.best_loss = 0;
    s->best_is_lost = false;
}

/* Cut the text into windows, and report if it differs from the text that the run began with. */
static tg_status begin_text(train_setup *s, tg_err *err)
{
    const size_t before = s->run.text_tokens, val_before = s->run.val_tokens;
    const tg_tokens *val = s->options->val ? &s->val : NULL;
    tg_text_changes changes;
    tg_status status = tg_run_use_text(&s->run, &s->batches, &s->tokens, val, &changes, err);

    if (status)
        return status;
    say_text("the text", changes.text, before, s->tokens.count);
    say_val(s, changes.val, val_before);
    if (changes.val != TG_TEXT_SAME || (!val && (changes.text != TG_TEXT_SAME || s->other_split)))
        forget_best(s);
    if (s->options->keep_best && s->batches.val_windows == 0)
        return tg_fail(err, TG_EUSAGE, "--keep-best needs a text to validate on: give one with --val");
    return TG_OK;
}

/* Whether the files of all processes have the same text. */
static tg_status compare_texts(const train_setup *s, tg_err *err)
{
    static const char remedy[] = "all processes need the same tokens";
    char word[TEAM_WORD];
    tg_status status;

    snprintf(word, sizeof word, "%zu tokens, CRC-32 %08zx", s->run.text_tokens, s->run.text_crc);
    if ((status = team_compare(s->team, word, "reads", remedy, err)))
        return status;
    snprintf(word, sizeof word, "%zu tokens, CRC-32 %08zx", s->run.val_tokens, s->run.val_crc);
    return team_compare(s->team, word, "validates on", remedy, err);
}

/* ---- the best model */

/*
 * The run's last save says which step is the best, and is written before the best model's own file is.  So
 * that file has this step; or, where the run was killed between the two, it has an earlier best, if any, and
 * the last save is the best model.
 */
static tg_status find_best(train_setup *s, tg_err *err)
{
    const char *path = s->options->best;
    tg_run *run = &s->run;
    size_t step;
    tg_status status;

    if (s->stream)
        return tg_fail(err, TG_EUSAGE, "--keep-best goes with a model that is saved to a file: give -o FILE");
    if ((status = cli_output_may_replace(path, CLI_OUT_RUN, err)) ||
        (status = cli_model_step(path, &step, err)) || (status = cli_output_check(path, 0, err)))
        return status;
    s->best_is_lost = run->best_step > 0 && run->best_step == run->step && step != run->step &&
                      (step == 0 || (s->source == s->target && step < run->step) || cli_force);
    if (s->best_is_lost || step == run->best_step || s->complete)
        return TG_OK;
    if (step > 0 && !cli_force)
        return tg_fail(err, TG_EUSAGE,
                       "%s: a model that was trained for %s step%s, and not this run's best: move it away",
                       path, cli_count(step), cli_plural(step));
    if (run->best_step > 0)
        cli_say("%s does not exist: of the steps so far, none counts as the best", path);
    run->best_step = 0;
    run->best_loss = 0;
    return TG_OK;
}

/* -o has an earlier run's model, from which the run resumes. */
static void use_target(train_setup *s)
{
    const char *model = s->options->model;

    s->continued = true;
    if (train_wants_adapter(s->options)) {
        if (s->options->adapter && strcmp(s->options->adapter, s->target) != 0)
            cli_say("%s exists and is continued: %s is not read", s->target, s->options->adapter);
        s->source = s->target;
        return;
    }
    if (model && strcmp(model, s->target) != 0 && !cli_is_adapter(s->target)) /* that is refused later */
        cli_say("%s exists and is continued: %s is not read", s->target, cli_input_name(model));
    s->source = s->target;
}

/* Whether -o is a file with content, which may be an earlier run's model. */
static tg_status has_content(const train_options *o, bool *content, tg_err *err)
{
    struct stat st;
    bool exists;
    tg_status status;

    *content = false;
    if (!o->output || cli_is_dash(o->output))
        return TG_OK;
    if ((status = tg_path_examine(o->output, &st, &exists, err)))
        return status;
    *content = S_ISREG(st.st_mode) && st.st_size > 0;
    return TG_OK;
}

/* Keep other runs away from the target, and note which file it is. */
static tg_status claim_target(train_setup *s, bool foreign, tg_err *err)
{
    tg_status status = TG_OK;
    bool exists;

    if (!s->options->no_lock && !foreign)
        status = cli_lock(&s->lock, s->target, "training", err);
    return status || s->stream ? status : tg_path_examine(s->target, &s->stamp, &exists, err);
}

/* What is known of the target, and which file the model comes from. */
static tg_status find_target(train_setup *s, tg_err *err)
{
    bool foreign, content; /* of the target */
    tg_status status;

    if (cli_force && !s->options->output)
        return tg_fail(err, TG_EUSAGE, "--force goes with -o");
    if ((status = cli_model_is_foreign(s->target, &foreign, err)) ||
        (status = has_content(s->options, &content, err)) ||
        (content && (status = cli_output_may_replace(s->target, CLI_OUT_RUN, err))) ||
        (status = claim_target(s, foreign && !cli_force, err)))
        return status;
    if (content && cli_force)
        return cli_check_output_differs_model(s->target, s->source, err);
    if (content)
        use_target(s);
    return TG_OK;
}

/* The model and its run, which the first process has read, for all. */
static tg_status broadcast_model(train_setup *s, tg_err *err)
{
    const size_t first = offsetof(train_setup, stream), end = offsetof(train_setup, tokens);

    tg_team_spread(s->team, (unsigned char *)s + first, end - first);
    return tg_run_spread(&s->run, s->team, s->tokens.tokenizer,
                         train_wants_adapter(s->options) ? &s->base : NULL, err);
}

/* Whether the model can be saved, as far as can be told.  A save needs room for a file besides the old one;
 * with --keep-best, the first one for two. */
static tg_status check_target(const train_setup *s, tg_err *err)
{
    const size_t files = s->options->keep_best && s->stamp.st_mode == 0 ? 2 : 1;
    const size_t bytes = train_values_kept(&s->run) * sizeof(float);

    return cli_output_check(s->target, s->stream || s->complete ? 0 : files * bytes, err);
}

static tg_status prepare(train_setup *s, tg_err *err)
{
    const tg_status status = tg_run_prepare(&s->run, err);

    return status == TG_EDATA ? tg_err_in(err, cli_input_name(s->source)) : status;
}

tg_status train_setup_load(train_setup *s, const train_options *o, const tg_team *team, tg_err *err)
{
    const bool first = team->rank == 0;
    tg_status status;

    *s = (train_setup){.options = o, .team = team, .source = cli_model_path(o->model), .lock = {.fd = -1}};
    s->target = o->output ? o->output : s->source; /* train_target(), by this very address */
    s->stream = cli_output_is_stream(s->target);
    if (!s->stream)
        cli_ignore_sigpipe(); /* a reader of messages that has ended must not keep a model from being saved */
    if ((status = team_settle(team, first ? find_target(s, err) : TG_OK, err)) ||
        (status = load_text(s, err)))
        return status;
    if (train_wants_adapter(o) && (status = team_settle(team, train_adapter_open_base(s, err), err)))
        return status;
    if (first && !(status = measure(s, err)) && !(status = load_model(s, err)) &&
        !(status = freeze(s, err)) && !(status = choose_settings(s, err)) && o->keep_best)
        status = find_best(s, err);
    if ((status = team_settle(team, status, err)) ||
        (status = team_settle(team, broadcast_model(s, err), err)))
        return status;
    s->run.recompute = o->recompute;
    if (!s->complete && (status = team_settle(team, prepare(s, err), err)))
        return status;
    if (!s->complete &&
        ((status = team_settle(team, begin_text(s, err), err)) || (status = compare_texts(s, err))))
        return status;
    /* now, not after hours of training */
    return team_settle(team, first ? check_target(s, err) : TG_OK, err);
}

void train_setup_free(train_setup *s)
{
    tg_run_free(&s->run);
    tg_model_file_close(&s->base);
    tg_batches_free(&s->batches);
    tg_tokens_free(&s->tokens);
    tg_tokens_free(&s->val);
    cli_unlock(&s->lock);
}
