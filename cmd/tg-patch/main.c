/* tg-patch: which activations carry what distinguishes two prompts. */
#include "cmd/tg-patch/job.h"
#include "lib/base/size.h"

static size_t longest(const patch_job *job)
{
    size_t n = 1;

    for (size_t i = 0; i < job->pairs; i++)
        n = tg_size_max(n, job->pair[i].clean.n);
    return n;
}

static tg_status work(patch_job *job, tg_err *err)
{
    tg_status status;

    if ((status = patch_read_pairs(job, err)) ||
        (status = tg_patch_open(&job->patch, &job->m.model, longest(job), err)))
        return status;
    status = job->o->ablates ? patch_circuit(job, err)
             : job->o->path  ? patch_edges(job, err)
                             : patch_sites(job, err);
    tg_patch_close(&job->patch);
    return cli_model_check(&job->m, err) ? err->code : status;
}

static tg_status run(const patch_options *o, tg_err *err)
{
    patch_job job = {.o = o};
    tg_status status;

    if ((status = cli_begin_compute(o->threads, err)) ||
        (status = cli_model_open(&job.m, o->model, false, "", err)))
        return status;
    status = work(&job, err);
    patch_free_pairs(&job);
    cli_model_close(&job.m);
    return status;
}

int main(int argc, char **argv)
{
    patch_options o;
    tg_err err = {0};

    cli_init("tg-patch");
    if (patch_parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || (run(&o, &err) && !cli_stdout_failed()))
        return cli_report(&err);
    return cli_close_stdout();
}
