/*
 * private: what the files of team share with each other, but not with the tools.
 */
#ifndef TG_CMD_TEAM_PRIVATE_H
#define TG_CMD_TEAM_PRIVATE_H

#include "cmd/team/team.h"

/* How this process was started: as one of so many; 1: it is alone. */
typedef struct team_launch {
    size_t rank, size;
    const char *by; /* the variable that says so */
} team_launch;

/* mpi*.c, or alone.c in a build without MPI: connect the processes that were started, and part from them.
 * timeout: the seconds after which a process that does not answer is lost. */
TG_MUST_CHECK tg_status team_connect(tg_team *team, const team_launch *launch, double timeout, tg_err *err);
void team_part(void);

/* How many of the processes use the processors that this one has. */
size_t team_on_same_processors(void);

/* "process 3 (node7)" */
void team_name(char *name, size_t size, size_t rank);

#endif
