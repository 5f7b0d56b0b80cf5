/* tg-attn-dump: every score and probability of attention, with the offset of each number. */
#include "cmd/tg-attn-dump/options.h"

static tg_status run(const job *what, const attn_options *o, tg_err *err)
{
    const tg_status status = cli_begin_compute(o->threads, err);

    return status ? status : what->run(o, err);
}

int main(int argc, char **argv)
{
    attn_options o;
    const job *what;
    tg_err err = {0};

    cli_init("tg-attn-dump");
    if (parse_options(argc, argv, &o, &what))
        return CLI_USAGE;
    if (cli_confine(&err) || run(what, &o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
