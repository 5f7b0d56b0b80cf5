/* tg-eval: how well a model predicts a text. */
#include "cmd/tg-eval/job.h"

#include <unistd.h>

#include "lib/base/size.h"

/* ---- texts */

/* What takes the rows (lib/eval/eval.h); the context is the job. */
static tg_status take(void *context, const tg_eval_row *rows, size_t n, tg_err *err)
{
    eval_job *job = context;
    tg_status status = TG_OK;

    if (n == 0)
        eval_show_progress(job);
    else if (job->o->per_token)
        return eval_print_tokens(job, rows, n, err);
    for (size_t i = 0; !status && i < n && job->logits; i++)
        status = tg_logits_write(job->logits, rows[i].input, rows[i].logits, err);
    job->output_failed = status != TG_OK;
    return status;
}

static void say_bos(eval_job *job)
{
    if (job->says_bos)
        cli_note_bos(job->m.model.tokenizer, job->eval.plan.prefix, "the text");
    job->says_bos = false;
}

/* Documents with a loss mask have what begins them. */
static void say_masked(eval_job *job)
{
    const eval_options *o = job->o;

    if ((o->text.bos || o->eot) && !job->said_masked && job->team->rank == 0)
        cli_say("documents with a loss mask have what begins them: --%s puts nothing there",
                o->eot ? "eot" : "bos");
    job->said_masked = true;
}

/* Which texts the next ones are, and so what begins them. */
static tg_status say_beginning(eval_job *job, tg_tokens_stream *stream, tg_err *err)
{
    bool masked = false;
    const tg_status status = team_settle(job->team, tg_tokens_stream_has_mask(stream, &masked, err), err);

    if (status)
        return status;
    if (masked)
        say_masked(job);
    else
        say_bos(job);
    return TG_OK;
}

static tg_status eval_stream(eval_job *job, tg_tokens_stream *stream, tg_err *err)
{
    const uint64_t scored = job->eval.sums.scored;
    tg_status status;

    do {
        if ((status = say_beginning(job, stream, err)))
            return status;
        job->first = true;
        status = tg_eval_run(&job->eval, stream, take, job, err);
    } while (!status && tg_tokens_stream_goes_on(stream));
    if (!status && job->eval.sums.scored == scored && !job->o->logits)
        return tg_fail(err, TG_EDATA, "the loss mask marks no token of the text as predicted");
    return status;
}

static tg_status eval_file(eval_job *job, const char *path, tg_err *err)
{
    tg_tokens_stream stream;
    int fd;
    tg_status status;

    if ((status = team_settle(job->team, cli_open_input(&fd, path, err), err))) {
        cli_close_input(fd);
        return status;
    }
    if (!(status = tg_tokens_stream_open(&stream, job->m.model.tokenizer, fd, err))) {
        status = eval_stream(job, &stream, err);
        tg_tokens_stream_close(&stream);
    }
    cli_close_input(fd);
    return status && !job->output_failed ? tg_err_in(err, cli_input_name(path)) : status;
}

/* A loss is taken for that of a text which somebody gave; cron gives none.  At a terminal, the probe is
 * shown, and named. */
static tg_status check_given(const eval_job *job, tg_err *err)
{
    const tg_team *team = job->team;

    if (!job->is_probe || tg_team_agree(team, team->rank == 0 && isatty(STDIN_FILENO)))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "there is no text: expected a FILE, -p TEXT, or text on standard input");
}

static tg_status eval_text(eval_job *job, tg_err *err)
{
    cli_stream text;
    tg_status status;

    if ((status = check_given(job, err)) || (status = cli_text_stream(&job->o->text, &text, &job->m, err)))
        return status;
    if ((status = eval_stream(job, &text.stream, err)) && !job->output_failed)
        (void)tg_err_in(err, text.name);
    cli_stream_close(&text);
    return status;
}

static tg_status eval_all(eval_job *job, tg_err *err)
{
    tg_status status = TG_OK;

    cli_note_json_lines(job->o->file, job->o->files,
                        "--choices reads questions with answers, tg-tokenize --chat and --prompt-completion "
                        "make tokens of examples");
    if (job->o->per_token)
        eval_print_titles(job);
    if (job->o->files == 0)
        status = eval_text(job, err);
    for (size_t i = 0; !status && i < job->o->files; i++)
        status = eval_file(job, job->o->file[i], err);
    return cli_model_check(&job->m, err) ? err->code : status;
}

/* ---- --logits */

/* Check that the output is not a file that is read. */
static tg_status check_output_differs(const eval_job *job, tg_err *err)
{
    tg_status status = cli_check_output_differs_model(job->o->output, job->m.path, err);

    if (!status && job->o->files == 0)
        status = cli_check_output_differs(job->o->output, "-", err);
    for (size_t i = 0; !status && i < job->o->files; i++)
        status = cli_check_output_differs(job->o->output, job->o->file[i], err);
    return status;
}

static tg_status write_logits(eval_job *job, tg_err *err)
{
    cli_output out;
    tg_status status;

    if ((status = check_output_differs(job, err)) ||
        (status = cli_output_begin(&out, job->o->output, CLI_OUT_LOGITS, err)))
        return status;
    if ((status = tg_logits_create(&job->logits, out.fd, &job->m.model, err)))
        job->output_failed = true;
    else if (!(status = eval_all(job, err)))
        job->output_failed = (status = tg_logits_finish(job->logits, err)) != TG_OK;
    if (job->output_failed)
        (void)tg_err_in(err, out.name);
    else if (!status)
        status = cli_output_commit(&out, err);
    tg_logits_abandon(job->logits);
    cli_output_abort(&out);
    return status;
}

/* ---- the plan, now that the model is known */

/* The token before each text. */
static tg_status find_prefix(int32_t *prefix, eval_job *job, tg_err *err)
{
    const eval_options *o = job->o;

    if (!o->eot)
        return cli_text_find_bos(prefix, &job->says_bos, &o->text, &job->m, job->is_probe, err);
    if ((*prefix = tg_tokenizer_end_of_text(job->m.model.tokenizer)) < 0)
        return tg_fail(err, TG_EUSAGE, "--eot: the model's tokenizer has no end-of-text token");
    return TG_OK;
}

static tg_status make_plan(tg_eval_plan *plan, const eval_options *o, const tg_model *model,
                           const tg_team *team, tg_err *err)
{
    const size_t n_ctx = model->config.n_ctx, ids = tg_tokenizer_vocab_size(model->tokenizer);
    const size_t context = o->context > 0 ? o->context : tg_size_min(n_ctx, TG_TOKENS_WINDOW);

    *plan = (tg_eval_plan){
        .context = context,
        .stride = o->stride > 0 ? o->stride : context,
        .top = o->top,
        .prefix = -1,
        .every_row = o->logits,
        .team = team,
    };
    if (context > n_ctx)
        return tg_fail(err, TG_EUSAGE, "--context %zu exceeds the model's %zu; " CLI_LONGER_CONTEXT, context,
                       n_ctx);
    if (plan->stride > context)
        return tg_fail(
            err, TG_EUSAGE,
            "--stride %zu exceeds the context of %zu: tokens between the windows would be left out",
            plan->stride, context);
    if (o->top > ids)
        return tg_fail(err, TG_EUSAGE, "--top %zu exceeds the model's %zu ids", o->top, ids);
    return TG_OK;
}

static tg_status evaluate(eval_job *job, tg_err *err)
{
    tg_eval_plan plan;
    tg_status status;

    job->is_probe = job->o->files == 0 && !job->o->choices && cli_text_is_probe(&job->o->text, &job->m);
    if ((status = make_plan(&plan, job->o, &job->m.model, job->team, err)) ||
        (status = find_prefix(&plan.prefix, job, err)))
        return status;
    if ((status = team_settle(job->team, tg_eval_open(&job->eval, &job->m.model, &plan, err), err)))
        goto done;
    if (job->o->choices) {
        say_bos(job);
        status = eval_choices(job, err);
    } else if (!(status = job->o->logits ? write_logits(job, err) : eval_all(job, err))) {
        eval_print_result(job);
    }
done:
    tg_eval_close(&job->eval);
    token_lines_free(&job->lines);
    return status;
}

static bool wants_stdin(const eval_options *o)
{
    bool wants =
        cli_is_dash(cli_model_path(o->model)) || (o->files == 0 && !cli_text_given(&o->text) && !o->choices);

    for (size_t i = 0; i < o->files; i++)
        wants |= cli_is_dash(o->file[i]);
    return wants;
}

static tg_status work(eval_job *job, tg_err *err)
{
    const eval_options *o = job->o;
    tg_status status;

    if (job->team->size > 1 && (o->per_token || o->logits || o->choices))
        return tg_fail(err, TG_EUSAGE, "--%s is for one process: several of them share out only the result",
                       o->logits    ? "logits"
                       : o->choices ? "choices"
                                    : "per-token");
    if ((status = team_broadcast_stdin(job->team, wants_stdin(o), err)))
        return status;
    if ((status = cli_model_open(&job->m, o->model, false, "", err)))
        job->m = (cli_model){.fd = -1};
    if ((status = team_settle(job->team, status, err)) ||
        (status = team_compare_models(job->team, &job->m.model, err)))
        return status;
    return evaluate(job, err);
}

static tg_status run(const eval_options *o, tg_err *err)
{
    eval_job job = {.o = o, .begun = cli_now(), .shown = cli_now(), .m = {.fd = -1}};
    tg_status status;

    if (!(status = team_begin_compute(&job.team, o->threads, err)))
        status = work(&job, err);
    status = team_settle(job.team, status, err);
    cli_model_close(&job.m);
    team_end();
    return status;
}

int main(int argc, char **argv)
{
    eval_options o = {0};
    tg_err err = {0};

    cli_init("tg-eval");
    (void)team_recognize();
    if (eval_parse(argc, argv, &o))
        return team_exit(CLI_USAGE);
    if (team_confine(&err) || (run(&o, &err) && !cli_stdout_failed()))
        return team_exit(cli_report(&err));
    return cli_close_stdout();
}
