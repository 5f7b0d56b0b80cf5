/* tg-attn-dump: every score and probability of attention, with the offset of each number. */
#include "cmd/tg-attn-dump/input.h"

static tg_status run_in_team(const job *what, attn_options *o, tg_err *err)
{
    tg_status status = team_begin_compute(&o->team, o->threads, err);

    if (!status)
        status = what->run(o, err);
    status = team_settle(o->team, status, err);
    team_end();
    return status;
}

static tg_status run(const job *what, attn_options *o, bool several, tg_err *err)
{
    tg_status status;

    if (several && what->in_team)
        return run_in_team(what, o, err);
    if (several)
        return tg_fail(err, TG_EUSAGE, "several processes can share --ablate, and nothing else");
    o->team = &tg_team_alone;
    if ((status = cli_begin_compute(o->threads, err)))
        return status;
    return what->run ? what->run(o, err) : input_run(what, o, err);
}

int main(int argc, char **argv)
{
    attn_options o;
    const job *what;
    tg_err err = {0};
    bool several;

    cli_init("tg-attn-dump");
    several = team_recognize();
    if (parse_options(argc, argv, &o, &what))
        return team_exit(CLI_USAGE);
    if (team_confine(&err) || run(what, &o, several, &err))
        return team_exit(cli_report(&err));
    return cli_close_stdout();
}
