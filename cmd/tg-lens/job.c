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

tg_status lens_write(lens_job *job, cli_archive_put put, void *context, tg_err *err)
{
    const char *output = job->o->output;
    const tg_status status = cli_archive_check(output, job->m.path, CLI_OUT_LENS, err);

    return status ? status : cli_archive_write(output, CLI_OUT_LENS, put, context, err);
}
