/* tg-circuit: what attention heads do, by their weights alone. */
#include "cmd/tg-circuit/job.h"

static tg_status show(const cli_model *m, const circuit_options *o, tg_err *err)
{
    const tg_config *c = &m->model.config;
    const tg_status status = tg_attn_filter_check(&o->filter, c->n_layer, c->n_head, c->n_ctx, err);

    if (status || (o->output && cli_archive_check(o->output, m->path, CLI_OUT_CIRCUIT, err)))
        return err->code;
    return o->tokens    ? circuit_print_tokens(m, o, err)
           : o->compose ? circuit_print_pairs(m, o, err)
                        : circuit_print_heads(m, o, err);
}

static tg_status run(const circuit_options *o, tg_err *err)
{
    cli_model m;
    tg_status status;

    if ((status = cli_begin_compute(o->threads, err)) ||
        (status = cli_model_open(&m, o->model, false, "", err)))
        return status;
    status = show(&m, o, err);
    cli_model_close(&m);
    return status;
}

int main(int argc, char **argv)
{
    circuit_options o = {0};
    tg_err err = {0};

    cli_init("tg-circuit");
    if (circuit_parse(argc, argv, &o))
        return CLI_USAGE;
    if (cli_confine(&err) || (run(&o, &err) && !cli_stdout_failed()))
        return cli_report(&err);
    return cli_close_stdout();
}
