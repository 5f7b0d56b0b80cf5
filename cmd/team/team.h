/*
 * team: a tool that several processes run together, started by mpirun.
 *
 * Every process is given the same command line and does the same, except that the first one
 * speaks, reads standard input and writes.  lib/base/team.h says what they send each other;
 * mpi.c carries it, in a separate thread.  A build without MPI has alone.c instead, and says so.
 */
#ifndef TG_CMD_TEAM_H
#define TG_CMD_TEAM_H

#include "lib/base/team.h"
#include "lib/gpt/model.h"

/* Call this after cli_init().  Returns whether this process is one of several: then only the first of them
 * prints from now on, and has a standard input. */
bool team_recognize(void);

/*
 * Connect the processes, and begin a computation: cli_begin_compute() for all, with the same instruction set.
 * *team is theirs, or tg_team_alone if there is one.  The caller ends with team_end(), also after an error.
 * TG_EUSAGE: this build has no MPI; another MPI's mpirun; TG_TEAM_TIMEOUT is wrong.  TG_EIO.
 *
 * From then on a process that ends, or does not answer for TG_TEAM_TIMEOUT seconds (60), ends the others
 * with CLI_IO, and a line that names it.
 */
TG_MUST_CHECK tg_status team_begin_compute(const tg_team **team, size_t threads, tg_err *err);
void team_end(void);

/* Like cli_confine(), except that several processes, which open sockets, are not confined. */
TG_MUST_CHECK tg_status team_confine(tg_err *err);

/* If the first process wants standard input, which has data: the same for all. */
TG_MUST_CHECK tg_status team_broadcast_stdin(const tg_team *team, bool wanted, tg_err *err);

/* Whether this process is one of several, and not the first. */
bool team_follows(void);

/* What main returns for a failure: the first process's code is that of all.  A process that ended first with
 * another code than 0 would have mpirun kill those that have not yet said why. */
int team_exit(int code);

/* Call this where all processes are: if one of them has failed, they all fail, and the first one gets its
 * message. */
TG_MUST_CHECK tg_status team_settle(const tg_team *team, tg_status status, tg_err *err);

/* Check that all processes have the same word for something, as "computes with %s, process 0 with %s".
 * TG_EUSAGE: they have not; the message ends with the remedy. */
#define TEAM_WORD 64 /* bytes, with the NUL */
TG_MUST_CHECK tg_status team_compare(const tg_team *team, const char *word, const char *does,
                                     const char *remedy, tg_err *err);

/* Check that all processes have read the same model.  TG_EUSAGE: they have not. */
TG_MUST_CHECK tg_status team_compare_models(const tg_team *team, const tg_model *model, tg_err *err);

/* Make what the first process has in a file, standard input, an unlinked file of each.  *fd is at its
 * beginning, the caller closes it.  TG_EIO. */
TG_MUST_CHECK tg_status team_spool(const tg_team *team, int *fd, tg_err *err);

#endif
