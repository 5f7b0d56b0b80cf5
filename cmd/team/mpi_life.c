/*
 * team: which processes live.
 *
 * mpirun ends a run when it sees one of its processes die.  Of a process that is stopped or not reached any
 * more, or that dies unseen (below a script; with srun), neither MPICH nor Open MPI takes notice, and the
 * others would wait for ever.  So every second or so each process sends the first one a sign of life, and
 * gets the same from it.  Who is silent for too long is lost, and so is a process of this machine that does
 * not exist any more.  The first process names the lost one, and ends the others.
 */
#define _GNU_SOURCE /* cpu_set_t */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/team/mpi.h"

team_wire team_w = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define ENDING_SECONDS 3 /* in which a process that ends all has done so: Open MPI takes two */

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

/* ---- a process that is lost */

static void nap(long nanoseconds)
{
    nanosleep(&(struct timespec){.tv_nsec = nanoseconds}, NULL);
}

void team_name(char *name, size_t size, size_t rank)
{
    snprintf(name, size, "process %zu (%s)", rank, team_w.process[rank].host);
}

/* MPICH's mpirun ends at once, without what it has not read yet of a line that was just said. */
_Noreturn void team_end_all(void)
{
    cli_drop_files();
    alarm(10); /* if MPI does not come to an end */
    nap(300 * 1000 * 1000);
    MPI_Abort(MPI_COMM_WORLD, CLI_IO);
    _exit(CLI_IO);
}

/* Whether all beats have left this process. */
static bool beats_are_out(void)
{
    bool all = true;

    for (int i = 0; i < team_w.size; i++) {
        MPI_Request *out = &team_w.peer[i].beat_out;
        int done = 1;

        if (*out != MPI_REQUEST_NULL)
            MPI_Test(out, &done, MPI_STATUS_IGNORE);
        all &= done != 0;
    }
    return all;
}

/* Report to the others that one is lost: they end without a word.  A process that does not get this message
 * notices the loss by its own timeout. */
static void send_lost(int who)
{
    static const enum word lost = LOST;

    (void)beats_are_out();
    for (int i = 1; i < team_w.size; i++)
        if (i != who && team_w.peer[i].beat_out == MPI_REQUEST_NULL)
            MPI_Isend(&lost, sizeof lost, MPI_BYTE, i, TAG_BEAT, MPI_COMM_WORLD, &team_w.peer[i].beat_out);
    for (int times = 0; times < 50 && !beats_are_out(); times++)
        nap(10 * 1000 * 1000);
}

static _Noreturn void lose(int who, const char *what)
{
    char name[128];

    if (who == 0) { /* process 1 says so, and ends the others; if it is also lost, process 2 does */
        const unsigned before = (unsigned)team_w.rank - 1;

        sleep(ENDING_SECONDS * (before < 5 ? before : 5));
    }
    team_name(name, sizeof name, (size_t)who);
    cli_mute(false);
    cli_say("%s %s: stopping all processes; rerun the command to resume from the last save", name, what);
    cli_mute(true); /* ignore mpirun's signals from here: they do not ask for a save */
    if (team_w.rank == 0)
        send_lost(who);
    team_end_all();
}

/* A call of MPI that concerns a process has failed.  The first process is to say so; if it is the lost one,
 * or does not, this one does. */
_Noreturn void team_failed(int who, int error)
{
    int class = MPI_SUCCESS;

    MPI_Error_class(error, &class);
    if (class == MPI_ERR_TRUNCATE)
        lose(who, "does something else: do all have the same files?");
    if (team_w.rank != 0 && who != 0)
        sleep(1); /* the first process also loses it */
    lose(who, "is not reached any more");
}

bool team_is_done(MPI_Request *request, int who, int bytes)
{
    MPI_Status status;
    int done = 0, got = bytes;
    const int error = MPI_Test(request, &done, &status);

    if (error != MPI_SUCCESS)
        team_failed(who, error);
    if (done && bytes >= 0)
        MPI_Get_count(&status, MPI_BYTE, &got);
    if (got != bytes)
        team_failed(who, MPI_ERR_TRUNCATE);
    return done != 0;
}

/* ---- signs of life */

static void expect_beat(int from)
{
    struct peer *p = &team_w.peer[from];

    MPI_Irecv(&p->in, sizeof p->in, MPI_BYTE, from, TAG_BEAT, MPI_COMM_WORLD, &p->beat_in);
}

void team_expect_beats(void)
{
    for (int i = team_w.watched; i < team_w.watched_end; i++)
        expect_beat(i);
}

static void hear(double now)
{
    for (int i = team_w.watched; i < team_w.watched_end; i++) {
        struct peer *p = &team_w.peer[i];

        if (p->beat_in == MPI_REQUEST_NULL || !team_is_done(&p->beat_in, i, sizeof p->in))
            continue;
        p->heard = now;
        if (p->in == LOST)
            team_end_all();
        p->gone = p->in == BYE;
        if (p->in != BEAT && p->left <= 0)
            p->left = now;
        if (!p->gone)
            expect_beat(i);
    }
}

static void send_beats(enum word word)
{
    for (int i = team_w.watched; i < team_w.watched_end; i++) {
        struct peer *p = &team_w.peer[i];

        if (p->beat_out != MPI_REQUEST_NULL && !team_is_done(&p->beat_out, i, -1))
            continue;
        p->out = word;
        MPI_Isend(&p->out, sizeof p->out, MPI_BYTE, i, TAG_BEAT, MPI_COMM_WORLD, &p->beat_out);
    }
}

static bool here(int i)
{
    return strcmp(team_w.process[i].host, team_w.process[team_w.rank].host) == 0 &&
           team_w.process[i].pids != 0 && team_w.process[i].pids == team_w.process[team_w.rank].pids;
}

static void look(double now)
{
    char what[64];

    snprintf(what, sizeof what, "has not answered for %.0f s", team_w.timeout);
    for (int i = team_w.watched; i < team_w.watched_end; i++) {
        const struct peer *p = &team_w.peer[i];

        if (team_w.busy && p->left > 0 && now - p->left > team_w.timeout) /* and its messages do not come */
            lose(i, "has left");
        if (p->gone)
            continue;
        if (here(i) && kill((pid_t)team_w.process[i].pid, 0) != 0 && errno == ESRCH)
            lose(i, "has ended");
        if (now - p->heard > team_w.timeout)
            lose(i, what);
    }
}

void team_live(void)
{
    const double now = cli_now();

    if (now - team_w.awake > team_w.timeout / 4) /* this process itself was stopped: the others may live */
        for (int i = 0; i < team_w.size; i++)
            team_w.peer[i].heard = now;
    team_w.awake = now;
    if (now - team_w.looked < LOOK_SECONDS)
        return;
    team_w.looked = now;
    hear(now);
    look(now);
    if (now - team_w.beaten >= (team_w.timeout < 10 ? team_w.timeout / 10 : 1)) {
        team_w.beaten = now;
        send_beats(BEAT);
    }
}

/* Wait until all beats have left, or a process that does not take them has had its time. */
static void let_beats_out(void)
{
    const double until = cli_now() + team_w.timeout;

    while (!beats_are_out() && cli_now() < until)
        nap(100 * 1000);
}

/* Whether all whom this process watches have said goodbye. */
static bool all_are_gone(void)
{
    bool all = true;

    for (int i = team_w.watched; i < team_w.watched_end; i++)
        all &= team_w.peer[i].gone;
    return all;
}

/* Hear the goodbyes of all whom this process watches; who does not say goodbye in time is lost. */
static void hear_goodbyes(void)
{
    while (!all_are_gone()) {
        hear(cli_now());
        if (team_w.rank == 0)
            team_live(); /* the others still want to hear that this one lives */
        else
            look(cli_now());
        nap(100 * 1000);
    }
}

/* The last beat of each is a goodbye, so that no message is left on its way: first those of the others, then
 * the first one's. */
void team_say_goodbye(void)
{
    let_beats_out();
    if (team_w.rank == 0) {
        send_beats(LEAVING);
        hear_goodbyes();
        let_beats_out();
        send_beats(BYE);
    } else {
        send_beats(BYE);
        hear_goodbyes();
    }
    let_beats_out();
}
