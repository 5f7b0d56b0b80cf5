/* tg-attn-dump: every score and probability of attention, with the place of each number. */
#include "cmd/tg-attn-dump/attn_dump.h"

/* The way to show it that the options ask for. */
static tg_status show(attn_subject *s, const attn_options *o, tg_err *err)
{
    const bool rows = o->stage == TG_ATTN_EVERY || tg_attn_stage_square((tg_attn_stage)o->stage);

    if (o->trace.element)
        return attn_show_trace(s, o, err);
    if (o->summary)
        return attn_show_summary(s, o, err);
    if (o->output)
        return attn_write_archive(s, o, err);
    return rows ? attn_show_rows(s, o, err) : attn_show_stage(s, o, err);
}

static tg_status run(const attn_options *o, tg_err *err)
{
    attn_subject s;
    tg_status status = cli_begin_compute(o->threads, err);

    if (status)
        return status;
    if (o->ablate)
        return attn_show_ablation(o, err);
    if (o->check)
        return attn_check_archive(o, err);
    if ((status = attn_subject_open(&s, o, err)))
        return status;
    status = show(&s, o, err);
    if (status == TG_EDATA && s.path)
        status = tg_err_in(err, cli_input_name(s.path));
    attn_subject_close(&s);
    return status;
}

int main(int argc, char **argv)
{
    attn_options o;
    tg_err err = {0};

    cli_init("tg-attn-dump");
    cli_init_threads(argv);
    if (attn_parse(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
