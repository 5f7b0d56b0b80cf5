/* tg-lens: what each layer of a model predicts, and what a logit is made of. */
#include "cmd/tg-lens/job.h"

static tg_status work(lens_job *job, tg_err *err)
{
    const lens_options *o = job->o;
    tg_status status;

    job->is_probe = cli_text_is_probe(&o->text, &job->m);
    if ((status = cli_text_or_probe(&o->text, &job->prompt, &job->m, err)))
        return status;
    if (!(status = cli_text_check_length(&job->prompt, &job->m.model, err)) &&
        (status = o->attribute || o->attribute_ids ? lens_attribution(job, err)
                                                   : lens_predictions(job, err)) == TG_EDATA)
        (void)tg_err_in(err, cli_input_name(job->m.path));
    cli_progress_end();
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
