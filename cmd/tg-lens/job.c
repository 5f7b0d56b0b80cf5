/* What both kinds of result need. */
#include "cmd/tg-lens/job.h"

tg_status lens_check_id(int32_t *id, const lens_job *job, const char *option, size_t number, tg_err *err)
{
    const size_t ids = tg_tokenizer_vocab_size(job->m.model.tokenizer);

    if (number >= ids)
        return tg_fail(err, TG_EUSAGE, "%s %zu is out of range: expected 0 to %zu", option, number, ids - 1);
    *id = (int32_t)number;
    return TG_OK;
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
