/* team: a build without MPI, which cannot connect processes. */
#include "cmd/cli/cli.h"
#include "cmd/team/private.h"

tg_status team_connect(tg_team *team, const team_launch *launch, double timeout, tg_err *err)
{
    (void)team, (void)timeout;
    return tg_fail(err, TG_EUSAGE,
                   "started as one of %zu processes (%s), but built without MPI: build it with  make MPI=1",
                   launch->size, launch->by);
}

void team_part(void)
{
}

size_t team_on_same_processors(void)
{
    return 1;
}

void team_name(char *name, size_t size, size_t rank)
{
    snprintf(name, size, "process %zu", rank);
}
