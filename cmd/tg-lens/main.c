/* tg-lens: what each layer of a model predicts, and what a logit is made of. */
#include "cmd/tg-lens/job.h"

tg_status lens_check_id(int32_t *id, const lens_job *job, const char *option, size_t number, tg_err *err)
{
    const size_t ids = tg_tokenizer_vocab_size(job->m.model.tokenizer);

    if (number >= ids)
        return tg_fail(err, TG_EUSAGE, "%s %zu is out of range: expected 0 to %zu", option, number, ids - 1);
    *id = (int32_t)number;
    return TG_OK;
}

tg_status lens_find_token(int32_t *id, const lens_job *job, const char *option, const char *text, tg_err *err)
{
    return cli_text_token(id, &job->m.model, option, text, err);
}

/* ---- an archive */

static tg_status check_output(const lens_job *job, tg_err *err)
{
    const char *output = job->o->output;
    tg_status status = cli_check_dump_name("-o", output, err);

    if (!status)
        status = cli_check_output_differs_model(output, job->m.path, err);
    return status ? status : cli_check_output_differs(output, "-", err); /* the text */
}

tg_status lens_write(lens_job *job, tg_status (*put)(void *context, int fd, tg_err *err), void *context,
                     tg_err *err)
{
    cli_output out = {0};
    tg_status status = check_output(job, err);

    if (!status && !(status = cli_output_begin(&out, job->o->output, CLI_OUT_LENS, err)) &&
        (status = put(context, out.fd, err)) == TG_EIO)
        (void)tg_err_in(err, out.name);
    if (!status)
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    return status;
}

/* ---- the run */

static tg_status work(lens_job *job, tg_err *err)
{
    const lens_options *o = job->o;
    tg_status status;

    job->is_probe = cli_text_is_probe(&o->text, &job->m);
    if ((status = cli_text_or_probe(&o->text, &job->prompt, &job->m, err)))
        return status;
    if (!(status = cli_text_check_length(&job->prompt, &job->m.model, err)))
        status = o->attribute || o->attribute_ids ? lens_attribution(job, err) : lens_predictions(job, err);
    cli_progress_end();
    if (cli_model_check(&job->m, err))
        status = err->code;
    else if (status == TG_EDATA)
        (void)tg_err_in(err, cli_input_name(job->m.path));
    tg_tokens_prompt_free(&job->prompt);
    return status;
}

static tg_status run(const lens_options *o, tg_err *err)
{
    lens_job job = {.o = o};
    tg_status status;

    if ((status = cli_begin_compute(o->threads, err)) ||
        (status = cli_model_open(&job.m, o->model, false, "", err)))
        return status;
    status = work(&job, err);
    cli_model_close(&job.m);
    return status;
}

int main(int argc, char **argv)
{
    lens_options o;
    tg_err err = {0};

    cli_init("tg-lens");
    if (lens_parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || (run(&o, &err) && !cli_stdout_failed()))
        return cli_report(&err);
    return cli_close_stdout();
}
