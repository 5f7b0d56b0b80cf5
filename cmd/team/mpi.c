/*
 * team: messages by MPI, which only the files mpi*.c know.
 *
 * A separate thread makes all calls of MPI, so that messages travel while the model is computed, and so
 * that a process that computes for minutes still answers.
 */
#define _GNU_SOURCE /* cpu_set_t, pthread_timedjoin_np() */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/team/mpi.h"

#define FINALIZE_SECONDS 10
#define LEAST_SECONDS 10 /* in which all must have begun: MPI itself takes some */

/* ---- the thread */

/* All-gather host, PID namespace, PID and CPU set. */
static void meet(void)
{
    struct process own = {.pid = getpid()};
    struct stat st;

    if (gethostname(own.host, sizeof own.host - 1) != 0)
        snprintf(own.host, sizeof own.host, "?");
    if (stat("/proc/self/ns/pid", &st) == 0)
        own.pids = (uint64_t)st.st_ino;
    if (sched_getaffinity(0, sizeof own.processors, &own.processors) != 0)
        CPU_ZERO(&own.processors);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, team_w.process, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
}

static tg_status join(tg_err *err)
{
    int level;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return tg_fail(err, TG_EIO, "MPI does not begin");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &team_w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &team_w.size);
    if ((size_t)team_w.size != team_w.launch.size || level < MPI_THREAD_FUNNELED) {
        MPI_Finalize();
        return tg_fail(err, TG_EUSAGE,
                       "started as one of %zu processes (%s), but its MPI, " TEAM_MPI
                       ", knows %d: start it with that MPI's mpirun",
                       team_w.launch.size, team_w.launch.by, team_w.size);
    }
    team_w.process = calloc((size_t)team_w.size, sizeof *team_w.process);
    team_w.peer = calloc((size_t)team_w.size, sizeof *team_w.peer);
    if (!team_w.process || !team_w.peer)
        return tg_fail_memory(err, (size_t)team_w.size * sizeof *team_w.process, "the processes");
    meet();
    team_w.watched = team_w.rank == 0 ? 1 : 0;
    team_w.watched_end = team_w.rank == 0 ? team_w.size : 1;
    team_w.awake = cli_now();
    for (int i = 0; i < team_w.size; i++)
        team_w.peer[i] =
            (struct peer){.heard = team_w.awake, .beat_out = MPI_REQUEST_NULL, .beat_in = MPI_REQUEST_NULL};
    team_expect_beats();
    return TG_OK;
}

static void *work(void *nothing)
{
    const tg_status status = join(&team_w.err);

    pthread_mutex_lock(&team_w.lock);
    team_w.started = true;
    pthread_cond_signal(&team_w.to_caller);
    while (!status && !team_w.leave) {
        const tg_flow *flow = team_w.flow;

        if (!flow)
            team_wait_for_caller();
        pthread_mutex_unlock(&team_w.lock);
        if (flow)
            team_run_flow(flow);
        team_live();
        pthread_mutex_lock(&team_w.lock);
        if (flow) {
            team_w.flow = NULL;
            pthread_cond_signal(&team_w.to_caller);
        }
    }
    pthread_mutex_unlock(&team_w.lock);
    if (!status) {
        team_say_goodbye();
        pthread_mutex_lock(&team_w.lock);
        team_w.parted = true;
        pthread_cond_signal(&team_w.to_caller);
        pthread_mutex_unlock(&team_w.lock);
        MPI_Finalize();
    }
    return nothing;
}

/* ---- the caller's side */

static void begin(const tg_team *team, const tg_flow *flow)
{
    (void)team;
    pthread_mutex_lock(&team_w.lock);
    team_w.ready = 0;
    team_w.waited = false;
    team_w.flow = flow;
    pthread_mutex_unlock(&team_w.lock);
}

static void ready(const tg_team *team, size_t groups)
{
    (void)team;
    pthread_mutex_lock(&team_w.lock);
    team_w.ready = groups;
    pthread_cond_signal(&team_w.to_thread);
    pthread_mutex_unlock(&team_w.lock);
}

static void end(const tg_team *team)
{
    (void)team;
    pthread_mutex_lock(&team_w.lock);
    team_w.waited = true;
    pthread_cond_signal(&team_w.to_thread);
    while (team_w.flow)
        pthread_cond_wait(&team_w.to_caller, &team_w.lock);
    pthread_mutex_unlock(&team_w.lock);
}

/* Open MPI's TCP: a message goes at once, not after an answer to its announcement, which would wait for the
 * data before it (docs/distributed.md).  Other networks, and what the user has set, stay. */
static void send_at_once(void)
{
    setenv("OMPI_MCA_btl_tcp_eager_limit", "600000", 0);
    setenv("OMPI_MCA_btl_tcp_rndv_eager_limit", "600000", 0);
    setenv("OMPI_MCA_btl_tcp_max_send_size", "600000", 0);
}

static bool start_thread(void)
{
    pthread_condattr_t clock;
    sigset_t all, before;
    bool ok;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&team_w.to_thread, &clock);
    pthread_cond_init(&team_w.to_caller, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ok = pthread_create(&team_w.thread, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

/* At exit: without what else MPI would do then. */
static void leave_at_once(int code, void *nothing)
{
    (void)nothing;
    fflush(NULL);
    _exit(code);
}

/* MPI waits for all processes, also for one that has ended before it began with MPI.  TG_EIO: not all of them
 * began in time; the thread stays within MPI. */
static tg_status wait_for_all(tg_err *err)
{
    const double seconds = team_w.timeout > LEAST_SECONDS ? team_w.timeout : LEAST_SECONDS;
    struct timespec until;
    int sys = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&team_w.lock);
    while (!team_w.started && sys == 0)
        sys = pthread_cond_timedwait(&team_w.to_caller, &team_w.lock, &until);
    pthread_mutex_unlock(&team_w.lock);
    if (sys == 0)
        return TG_OK;
    on_exit(leave_at_once, NULL);
    return tg_fail(
        err, TG_EIO,
        "not all of the %zu processes have begun within %.0f s: has each the same options and files? "
        "TG_TEAM_TIMEOUT gives them more time",
        team_w.launch.size, seconds);
}

tg_status team_connect(tg_team *team, const team_launch *launch, double timeout, tg_err *err)
{
    tg_status status;

    team_w.launch = *launch;
    team_w.timeout = timeout;
    send_at_once();
    if (!start_thread())
        return tg_fail(err, TG_EIO, "cannot create a thread");
    if ((status = wait_for_all(err)))
        return status;
    if (team_w.err.code) {
        pthread_join(team_w.thread, NULL);
        *err = team_w.err;
        return err->code;
    }
    *team = (tg_team){
        .rank = (size_t)team_w.rank, .size = (size_t)team_w.size, .begin = begin, .ready = ready, .end = end};
    return TG_OK;
}

/* All is done and said when MPI_Finalize() begins.  MPICH 4.0 over TCP waits in it for ever, now and then. */
void team_part(void)
{
    struct timespec until;

    pthread_mutex_lock(&team_w.lock);
    team_w.leave = true;
    pthread_cond_signal(&team_w.to_thread);
    while (!team_w.parted)
        pthread_cond_wait(&team_w.to_caller, &team_w.lock);
    pthread_mutex_unlock(&team_w.lock);
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += FINALIZE_SECONDS;
    if (pthread_timedjoin_np(team_w.thread, NULL, &until) != 0)
        on_exit(leave_at_once, NULL);
}

size_t team_on_same_processors(void)
{
    size_t n = 0;

    for (int i = 0; i < team_w.size; i++) {
        cpu_set_t common;

        CPU_AND(&common, &team_w.process[i].processors, &team_w.process[team_w.rank].processors);
        n += strcmp(team_w.process[i].host, team_w.process[team_w.rank].host) == 0 && CPU_COUNT(&common) > 0;
    }
    return n > 0 ? n : 1;
}
