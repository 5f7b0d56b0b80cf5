/* team: the state of the thread that makes all calls of MPI, and how it waits for the caller. */
#define _GNU_SOURCE /* cpu_set_t */
#include <time.h>

#include "cmd/team/mpi.h"

team_wire team_w = {.lock = PTHREAD_MUTEX_INITIALIZER};

void team_wait_for_caller(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(LOOK_SECONDS * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_cond_timedwait(&team_w.to_thread, &team_w.lock, &until);
}
