/* tg-train: train a model on token archives. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "cmd/cli.h"
#include "cmd/train_report.h"
#include "formats/save.h"
#include "lib/text/tokens.h"
#include "lib/train/trainer.h"

struct options {
    const char *model, *output, *log;
    tg_settings asked; /* values, of which those count that were given */
    bool given[TG_SETTINGS];
    size_t eval_every, eval_tokens, save_every, threads;
    char **files;
    size_t n_files;
};

/* Everything that a run holds. */
struct job {
    const struct options *o;
    const char *target; /* where the model is saved; "-": standard output */
    tg_tokens tokens;
    tg_checkpoint run;
    tg_batches batches;
    tg_trainer trainer;
    train_report report;
    bool is_new;
    size_t saved_step; /* step of the last save; SIZE_MAX: none */
};

/* ---- options */

/* The setting's place among the given flags.  name is one of the table's. */
static const bool *given(const struct options *o, const char *name)
{
    size_t i = 0;

    while (strcmp(tg_setting_table[i].name, name) != 0)
        i++;
    return &o->given[i];
}

static bool *give(struct options *o, const char *name)
{
    return &o->given[given(o, name) - o->given];
}

static int parse(int argc, char **argv, struct options *o)
{
    tg_settings *a = &o->asked;
    cli_option options[] = {
        {'m', "model", CLI_TEXT, &o->model, "FILE",
         "the model to train; made when missing (default: $TG_MODEL, else model.npz)", 0, 0, NULL},
        {'o', "output", CLI_TEXT, &o->output, "FILE", "save there instead; - is standard output", 0, 0, NULL},
        {'n', "steps", CLI_SIZE, &a->steps, "N", "steps in all, those already done included", 1, 1e12,
         give(o, "steps")},
        {'b', "batch", CLI_SIZE, &a->batch, "N", "sequences to a pass", 1, 65536, give(o, "batch")},
        {'c', "context", CLI_SIZE, &a->context, "N", "tokens to a sequence (default: the model's context)", 1,
         1e7, give(o, "context")},
        {'a', "accumulate", CLI_SIZE, &a->accumulate, "N", "passes to a step", 1, 65536,
         give(o, "accumulate")},
        {'l', "lr", CLI_NUMBER, &a->lr, "X", "peak learning rate; wide models want less, GPT-2's size 6e-4",
         0, 1e3, give(o, "lr")},
        {0, "min-lr", CLI_NUMBER, &a->min_lr, "X", "learning rate at the last step (default: a tenth of --lr)", 0, 1e3,
         give(o, "min-lr")},
        {0, "warmup", CLI_SIZE, &a->warmup, "N", "steps of linear warm-up", 0, 1e12, give(o, "warmup")},
        {0, "beta1", CLI_NUMBER, &a->beta1, "X", "AdamW's first decay", 0, 0.999999, give(o, "beta1")},
        {0, "beta2", CLI_NUMBER, &a->beta2, "X", "AdamW's second decay", 0, 0.999999, give(o, "beta2")},
        {0, "weight-decay", CLI_NUMBER, &a->weight_decay, "X", "AdamW's decay of matrices", 0, 1e3,
         give(o, "weight-decay")},
        {0, "clip", CLI_NUMBER, &a->clip, "X", "largest norm of the gradient; 0 for no limit", 0, 1e9,
         give(o, "clip")},
        {0, "dropout", CLI_NUMBER, &a->dropout, "P", "probability of dropping an activation", 0, 0.99,
         give(o, "dropout")},
        {0, "val-fraction", CLI_NUMBER, &a->val_fraction, "X", "share of the text, its end, for validation",
         0, 0.9, give(o, "val-fraction")},
        {'s', "seed", CLI_U64, &a->seed, "N", "order of the text, dropout, and a new model's weights", 0, 0,
         give(o, "seed")},
        {0, "eval-every", CLI_SIZE, &o->eval_every, "N", "steps between validations; 0 for the end alone", 0,
         1e12, NULL},
        {0, "eval-tokens", CLI_SIZE, &o->eval_tokens, "N", "tokens to a validation; 0 for all", 0, 1e15,
         NULL},
        {0, "save-every", CLI_SIZE, &o->save_every, "N", "steps between saves; 0 for the end alone", 0, 1e12,
         NULL},
        {0, "log", CLI_TEXT, &o->log, "FILE", "append a line for each step to FILE, as TSV", 0, 0, NULL},
        {'t', "threads", CLI_SIZE, &o->threads, "N", "threads; 0 for one a processor", 0, 1024, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-train",
        .usage = "[-m MODEL] [OPTION]... [TOKENS]...",
        .summary = "Train a model on token archives, from standard input or files. The model is made when\n"
                   "it does not exist. A run that was stopped goes on when the same command is given again.",
        .examples = "  $ tg-tokenize < text | tg-train\n"
                    "  $ tg-tokenize text > tokens.npz\n"
                    "  $ tg-train --steps 500 --lr 3e-4 --log log.tsv tokens.npz",
        .options = options,
    };
    int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    o->files = argv + 1;
    o->n_files = (size_t)n;
    return CLI_OK;
}

/* ---- the text */

/* Text where tokens should be is the commonest mistake. */
static void suggest_tokenize(const char *path, tg_err *err)
{
    const size_t used = strlen(err->message);

    snprintf(err->message + used, sizeof err->message - used, "; try  tg-tokenize %s%s | tg-train",
             strcmp(path, "-") == 0 ? "< " : "", strcmp(path, "-") == 0 ? "text" : path);
}

static tg_status load_file(tg_tokens *tokens, const char *path, tg_err *err)
{
    int fd;
    tg_status status = cli_open_input(&fd, path, err);

    if (status)
        return tg_err_in(err, cli_input_name(path));
    status = tg_tokens_load(tokens, fd, err);
    cli_close_input(fd);
    if (status == TG_EDATA && strstr(err->message, "plain text"))
        suggest_tokenize(path, err);
    return status ? tg_err_in(err, cli_input_name(path)) : TG_OK;
}

static bool names_stdin(const struct options *o)
{
    for (size_t i = 0; i < o->n_files; i++)
        if (strcmp(o->files[i], "-") == 0)
            return true;
    return o->n_files == 0;
}

static tg_status load_text(struct job *job, tg_err *err)
{
    const struct options *o = job->o;
    bool model_from_stdin = strcmp(cli_model_path(o->model), "-") == 0;
    tg_status status;

    if (model_from_stdin && names_stdin(o))
        return tg_fail(err, TG_EUSAGE, "the model comes from standard input, so name files for the tokens");
    if (o->n_files == 0) {
        if (isatty(STDIN_FILENO))
            return tg_fail(err, TG_EUSAGE, "no text: try  tg-tokenize < text | tg-train");
        return load_file(&job->tokens, "-", err);
    }
    for (size_t i = 0; i < o->n_files; i++)
        if ((status = load_file(&job->tokens, o->files[i], err)))
            return status;
    return TG_OK;
}

static size_t text_crc(const tg_tokens *tokens)
{
    return crc32_z(0, tokens->data, tokens->count * tokens->width);
}

/* ---- the model */

static tg_status new_model(struct job *job, tg_err *err)
{
    const struct options *o = job->o;
    tg_config config = tg_config_preset(TG_PRESET_DEFAULT);
    tg_model model;
    tg_status status;

    if (*given(o, "context"))
        config.n_ctx = o->asked.context;
    /* before memory is taken for a context that the text cannot fill */
    if ((status = tg_batches_init(&job->batches, &job->tokens, 0, config.n_ctx, 0, err)) ||
        (status = tg_model_create(&model, &config, o->asked.seed, err)))
        return status;
    job->is_new = true;
    return tg_checkpoint_begin(&job->run, &model, err);
}

static tg_status load_model(struct job *job, tg_err *err)
{
    const char *path = cli_model_path(job->o->model);
    int fd;
    tg_status status;

    if (strcmp(path, "-") != 0 && access(path, F_OK) != 0 && errno == ENOENT)
        return new_model(job, err);
    if (cli_open_input(&fd, path, err))
        return tg_err_in(err, cli_input_name(path));
    status = tg_checkpoint_read(&job->run, fd, err);
    cli_close_input(fd);
    return status ? tg_err_in(err, cli_input_name(path)) : TG_OK;
}

/* Given options win over the settings that the run was saved with, and that is said. */
static void merge_settings(struct job *job)
{
    const struct options *o = job->o;
    tg_settings *s = &job->run.settings;
    char before[32], now[32];

    for (size_t i = 0; i < TG_SETTINGS; i++) {
        if (!o->given[i] || tg_setting_same(s, &o->asked, i))
            continue;
        tg_setting_text(before, sizeof before, s, i);
        tg_setting_copy(s, &o->asked, i);
        tg_setting_text(now, sizeof now, s, i);
        if (job->run.step > 0)
            cli_say("--%s was %s, is %s from here on", tg_setting_table[i].name, before, now);
    }
    if (*given(o, "lr") && !*given(o, "min-lr"))
        s->min_lr = s->lr / 10;
    if (s->context == 0)
        s->context = job->run.model.config.n_ctx;
}

static tg_status check_settings(struct job *job, tg_err *err)
{
    const tg_settings *s = &job->run.settings;
    const tg_model *m = &job->run.model;

    if (!tg_tokenizer_equal(&job->tokens.tokenizer, &m->tokenizer))
        return tg_fail(err, TG_EDATA, "the tokens come from tokenizer %s (%zu), the model has %s (%zu)",
                       job->tokens.tokenizer.kind, job->tokens.tokenizer.vocab_size, m->tokenizer.kind,
                       m->tokenizer.vocab_size);
    if (s->context > m->config.n_ctx)
        return tg_fail(err, TG_EUSAGE, "--context %zu is more than the model's %zu", s->context,
                       m->config.n_ctx);
    return tg_settings_check(s, err);
}

/* Remember the text, or say that it is another one than the run began with. */
static void note_text(struct job *job)
{
    tg_checkpoint *run = &job->run;
    size_t crc = text_crc(&job->tokens);

    if (run->step > 0 && (run->text_tokens != job->tokens.count || run->text_crc != crc))
        cli_say("the text is not the one that the run began with (%s tokens then, %s now)",
                cli_count(run->text_tokens), cli_count(job->tokens.count));
    run->text_tokens = job->tokens.count;
    run->text_crc = crc;
}

/* The model keeps the beginning of the validation text to show its attention on. */
static void keep_probe(struct job *job)
{
    tg_model *m = &job->run.model;
    const tg_batches *b = &job->batches;
    size_t at = b->val_tokens > 0 ? b->train_tokens : 0;
    size_t n = job->tokens.count - at;

    n = n < TG_PROBE_MAX ? n : TG_PROBE_MAX;
    n = n < m->config.n_ctx ? n : m->config.n_ctx;
    tg_tokens_get(&job->tokens, m->probe, at, n);
    m->probe_count = n;
}

/* ---- before the first step */

static void announce(const struct job *job)
{
    const tg_checkpoint *run = &job->run;
    const tg_config *c = &run->model.config;
    const tg_batches *b = &job->batches;
    size_t bytes = tg_trainer_bytes((tg_checkpoint *)(uintptr_t)run, b);

    bytes += 3 * run->model.table.floats * sizeof(float) + job->tokens.count * job->tokens.width;
    if (job->is_new)
        cli_say("%s: a new model, %zu layers, %zu heads, width %zu, context %zu", job->target, c->n_layer,
                c->n_head, c->n_embd, c->n_ctx);
    else if (run->step == 0)
        cli_say("%s: an untrained model", cli_input_name(cli_model_path(job->o->model)));
    else
        cli_say("%s: going on from step %s of %s", cli_input_name(cli_model_path(job->o->model)),
                cli_count(run->step), cli_count(run->settings.steps));
    cli_say("%s parameters, %s tokens (%s to train, %s to validate), needs %s",
            cli_count(run->model.table.count), cli_count(job->tokens.count), cli_count(b->train_tokens),
            cli_count(b->val_tokens), cli_bytes(bytes));
    if (b->val_tokens == 0 && run->settings.val_fraction > 0)
        cli_say("no validation: the last %g of the text is shorter than one window of %zu tokens",
                run->settings.val_fraction, b->T + 1);
}

static bool to_stdout(const struct job *job)
{
    return strcmp(job->target, "-") == 0;
}

/* Standard output, a pipe or a device: it takes the model once, at the end. */
static bool to_stream(const struct job *job)
{
    struct stat st;

    return to_stdout(job) || (stat(job->target, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode));
}

static tg_status check_stdout(tg_err *err)
{
    const int flags = fcntl(STDOUT_FILENO, F_GETFL);

    if (isatty(STDOUT_FILENO))
        return tg_fail(err, TG_EUSAGE, "a model is binary: send it to a file with -o FILE");
    if (flags == -1 || (flags & O_ACCMODE) == O_RDONLY) {
        errno = EBADF;
        (void)tg_fail_sys(err, "cannot be written");
        return tg_err_in(err, "standard output");
    }
    return TG_OK;
}

/* Better now than after hours: can the model be saved at all? */
static tg_status check_target(const struct job *job, tg_err *err)
{
    tg_save save;
    tg_status status;

    if (to_stdout(job))
        return check_stdout(err);
    if (to_stream(job)) /* opening a pipe and closing it again would end its reader */
        status = access(job->target, W_OK) ? tg_fail_sys(err, "cannot be written") : TG_OK;
    else if (!(status = tg_save_begin(&save, job->target, err)))
        tg_save_abort(&save);
    return status ? tg_err_in(err, job->target) : TG_OK;
}

static tg_status prepare(struct job *job, tg_err *err)
{
    const struct options *o = job->o;
    tg_status status;

    if ((status = load_text(job, err)) || (status = load_model(job, err)))
        return status;
    job->target = o->output ? o->output : cli_model_path(o->model);
    merge_settings(job);
    if ((status = check_settings(job, err)))
        return status;
    if ((status = tg_batches_init(&job->batches, &job->tokens, job->run.settings.seed,
                                  job->run.settings.context, job->run.settings.val_fraction, err)))
        return status;
    note_text(job);
    keep_probe(job);
    return check_target(job, err);
}

/* ---- training */

static tg_status save(struct job *job, tg_err *err)
{
    tg_status status;

    if (job->saved_step == job->run.step)
        return TG_OK;
    if (to_stdout(job))
        status = tg_checkpoint_write(&job->run, STDOUT_FILENO, err);
    else
        status = tg_checkpoint_save(&job->run, job->target, err);
    if (status)
        return tg_err_in(err, to_stdout(job) ? "standard output" : job->target);
    job->saved_step = job->run.step;
    return TG_OK;
}

/* Whether something that happens every `every` steps (0: at the end alone) is due. */
static bool due(const struct job *job, size_t every)
{
    size_t step = job->run.step;

    return step == job->run.settings.steps || (every > 0 && step % every == 0);
}

static tg_status check_val_loss(const struct job *job, tg_err *err)
{
    if (isfinite(job->report.val_loss))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "step %zu: the validation loss is %g", job->run.step,
                   fabs(job->report.val_loss));
}

static tg_status one_step(struct job *job, tg_err *err)
{
    tg_step_report step;
    bool evaluated = false;
    double since;
    tg_status status = tg_trainer_step(&job->trainer, &step, err);

    if (status)
        return status;
    job->report.step = job->run.step;
    since = train_report_pause();
    if (job->batches.val_windows > 0 && due(job, job->o->eval_every)) {
        job->report.val_loss =
            tg_trainer_evaluate(&job->trainer, tg_trainer_val_windows(&job->batches, job->o->eval_tokens));
        evaluated = true;
        status = check_val_loss(job, err); /* before a save: not over the last good model */
    }
    if (!status && job->o->save_every > 0 && due(job, job->o->save_every) && !to_stream(job))
        status = save(job, err);
    train_report_resume(&job->report, since);
    if (!status && train_report_step(&job->report, &step, evaluated, err)) {
        tg_err ignored;

        (void)(save(job, &ignored)); /* the log is lost, the steps shall not be */
        status = TG_EIO;
    }
    return status;
}

/* The loss or a weight is not finite: which model is there now? */
static void say_what_is_left(const struct job *job)
{
    if (to_stream(job) || (job->saved_step == SIZE_MAX && access(job->target, F_OK) != 0))
        cli_say("stopped; no model is saved");
    else if (job->saved_step == SIZE_MAX)
        cli_say("stopped; %s stays as it was", job->target);
    else
        cli_say("stopped; %s keeps step %s", job->target, cli_count(job->saved_step));
}

static tg_status train(struct job *job, tg_err *err)
{
    tg_status status = TG_OK;

    while (!status && job->run.step < job->run.settings.steps && cli_stop_signal() == 0) {
        status = one_step(job, err);
        if (cli_status_asked())
            train_report_say(&job->report);
    }
    if (!status)
        status = save(job, err);
    if (status == TG_EDATA)
        say_what_is_left(job);
    return status;
}

/* Nothing is left to do: say so, and how to go on. */
static tg_status already_complete(struct job *job, tg_err *err)
{
    const tg_settings *s = &job->run.settings;

    cli_say("%s is complete: %s of %s steps are done; to go on: tg-train %s%s%s--steps %zu",
            cli_input_name(cli_model_path(job->o->model)), cli_count(job->run.step), cli_count(s->steps),
            job->o->model ? "-m " : "", job->o->model ? job->o->model : "", job->o->model ? " " : "",
            2 * job->run.step);
    return job->o->output ? save(job, err) : TG_OK;
}

static void conclude(const struct job *job)
{
    char validation[48] = "";

    if (!isnan(job->report.val_loss))
        snprintf(validation, sizeof validation, ", validation loss %.4f", job->report.val_loss);
    if (job->report.step > job->report.first)
        cli_say("step %s: loss %.4f%s", cli_count(job->run.step), job->report.last.loss, validation);
    if (!to_stdout(job))
        cli_say("saved %s at step %s of %s", job->target, cli_count(job->run.step),
                cli_count(job->run.settings.steps));
}

static tg_status work(struct job *job, tg_err *err)
{
    tg_status status, closed;

    if ((status = prepare(job, err)))
        return status;
    if (job->run.step >= job->run.settings.steps)
        return already_complete(job, err);
    announce(job);
    if ((status = tg_trainer_open(&job->trainer, &job->run, &job->batches, err)) ||
        (status = train_report_open(&job->report, &job->run.settings, job->run.step, job->o->log, err)))
        return status;
    cli_catch_signals();
    status = train(job, err);
    cli_progress_end();
    if (!status)
        conclude(job);
    closed = train_report_close(&job->report, status ? NULL : err);
    return status ? status : closed;
}

static tg_status run(const struct options *o, tg_err *err)
{
    struct job job = {.o = o, .saved_step = SIZE_MAX};
    tg_status status;

    cli_set_threads(o->threads);
    status = work(&job, err);
    tg_trainer_close(&job.trainer);
    tg_checkpoint_free(&job.run);
    tg_tokens_free(&job.tokens);
    return status;
}

int main(int argc, char **argv)
{
    struct options o = {
        .asked = tg_settings_default(),
        .eval_every = 250,
        .eval_tokens = 32768,
        .save_every = 500,
    };
    tg_err err = {0};
    int code;

    o.asked.min_lr = -1; /* no number to show as the default: it follows --lr */
    cli_init("tg-train");
    cli_init_threads(argv);
    code = parse(argc, argv, &o);
    if (code != CLI_OK)
        return code;
    if (run(&o, &err) != TG_OK)
        return cli_report(&err);
    if (cli_stop_signal() != 0)
        cli_raise(cli_stop_signal());
    return cli_close_stdout();
}
