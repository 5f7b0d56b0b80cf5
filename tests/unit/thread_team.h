/* A team whose members are threads of one process: the exchange of messages without MPI. */
#ifndef TG_TESTS_THREAD_TEAM_H
#define TG_TESTS_THREAD_TEAM_H

#include "lib/base/team.h"

enum { THREAD_TEAM_MAX = 8 };

/* Run work(team, context) in `size` threads, each a member, and check that no message is left. */
void thread_team_run(size_t size, void (*work)(const tg_team *team, void *context), void *context);

#endif
