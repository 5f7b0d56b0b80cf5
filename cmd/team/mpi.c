/*
 * team: messages by MPI, the only file that knows it.
 *
 * A thread of its own makes all calls of MPI, so that messages travel while the model is computed, and so
 * that a process that computes for minutes still answers.  It never waits inside MPI: it looks, and sleeps in
 * between, so that it takes no processor from those who compute.
 *
 * Every second or so each process tells the first one that it lives, and is told the same.  Who is silent for
 * too long is lost, and so is a process of this machine that does not exist any more.  The first process
 * names the lost one, and ends the others.
 */
#define _GNU_SOURCE /* cpu_set_t */
#include <errno.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/team/private.h"
#include "lib/base/size.h"

enum { TAG_DATA = 1, TAG_BEAT = 2 };

#define LOOK_SECONDS 0.05 /* between looks at the processes of this machine */
#define YIELDS 200        /* looks without a sleep, while nothing else is to be done */
#define SLEEP_MAX 200000L /* nanoseconds */

/* What is known of a process. */
struct process {
    char host[64];
    uint64_t pids; /* the namespace that its number belongs to */
    int64_t pid;
    cpu_set_t processors;
};

/* What processes tell the first one, and it them, while they live: BEAT; at the end: BYE; LOST: who. */
enum word { BEAT, BYE, LOST };
struct beat {
    int word, who;
};

/* The groups of a flow that are under way, as a ring. */
struct under_way {
    MPI_Request *request; /* [window,messages] */
    int *peer;            /* the same */
    int *n, *left;        /* [window] messages of a group, and those of them that are not done */
    size_t posted, base;  /* groups: begun; done, with all before them */
};

static struct {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t to_thread, to_caller;
    /* under the lock */
    bool started, leave;
    const tg_flow *flow;
    size_t ready; /* groups of it */
    bool waited;  /* the caller waits for its end */
    /* the thread's */
    int rank, size;
    double timeout;
    struct process *process; /* [size] */
    struct under_way way;
    tg_message *messages;    /* of a group */
    size_t requests, groups; /* that there is room for */
    struct beat out, *in;    /* in [size] */
    MPI_Request *beat_out, *beat_in;
    double *heard; /* [size] when */
    bool *gone;    /* [size] has said goodbye */
    double beaten, looked, awake;
    /* of the start */
    team_launch launch;
    tg_status status;
    tg_err *err;
} w = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- a process that is lost */

void team_name(char *name, size_t size, size_t rank)
{
    snprintf(name, size, "process %zu (%s)", rank, w.process[rank].host);
}

/* The last thing that this process does. */
static _Noreturn void end_all(void)
{
    cli_drop_files();
    alarm(10); /* if MPI does not come to an end */
    MPI_Abort(MPI_COMM_WORLD, CLI_IO);
    _exit(CLI_IO);
}

/* Whether all beats have left this process. */
static bool beats_are_out(void)
{
    bool all = true;

    for (int i = 0; i < w.size; i++) {
        int done = 1;

        if (w.beat_out[i] != MPI_REQUEST_NULL)
            MPI_Test(&w.beat_out[i], &done, MPI_STATUS_IGNORE);
        all &= done != 0;
    }
    return all;
}

/* Tell the others who is lost: they end without a word.  Whom this does not reach ends by itself, later. */
static void tell_lost(int who)
{
    const struct timespec moment = {.tv_nsec = 10 * 1000 * 1000};

    w.out = (struct beat){LOST, who};
    for (int i = 1; i < w.size; i++)
        if (i != who && w.beat_out[i] == MPI_REQUEST_NULL)
            MPI_Isend(&w.out, sizeof w.out, MPI_BYTE, i, TAG_BEAT, MPI_COMM_WORLD, &w.beat_out[i]);
    for (int times = 0; times < 50 && !beats_are_out(); times++)
        nanosleep(&moment, NULL);
}

static _Noreturn void lose(int who, const char *what)
{
    char name[128];

    if (who == 0) /* the second process says so, and ends the others; they take turns if it is lost, too */
        for (int i = 1; i < w.rank && i < 10; i++)
            nanosleep(&(struct timespec){.tv_nsec = 300 * 1000 * 1000}, NULL);
    team_name(name, sizeof name, (size_t)who);
    cli_mute(false);
    cli_say("%s %s: all end; the same command goes on from the last save", name, what);
    cli_mute(true); /* mpirun's signals, now, are no requests to save */
    if (w.rank == 0)
        tell_lost(who);
    end_all();
}

/* A call of MPI that concerns a process has failed.  The first process is to say so; if it is the lost one,
 * or does not, this one does. */
static void failed(int who)
{
    if (w.rank != 0 && who != 0)
        sleep(1); /* the first process loses it, too */
    lose(who, "is not reached any more");
}

/* ---- signs of life */

static void expect_beat(int from)
{
    MPI_Irecv(&w.in[from], sizeof w.in[from], MPI_BYTE, from, TAG_BEAT, MPI_COMM_WORLD, &w.beat_in[from]);
}

/* The processes that this one watches: the first watches all others, these the first. */
static int watched_from(void)
{
    return w.rank == 0 ? 1 : 0;
}

static int watched_to(void)
{
    return w.rank == 0 ? w.size : 1;
}

static void hear(double now)
{
    for (int i = watched_from(); i < watched_to(); i++) {
        int done;

        if (w.beat_in[i] == MPI_REQUEST_NULL)
            continue;
        if (MPI_Test(&w.beat_in[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            failed(i);
        if (!done)
            continue;
        w.heard[i] = now;
        if (w.in[i].word == LOST)
            end_all();
        w.gone[i] = w.in[i].word == BYE;
        if (!w.gone[i])
            expect_beat(i);
    }
}

static void tell(enum word word)
{
    for (int i = watched_from(); i < watched_to(); i++) {
        int done;

        if (MPI_Test(&w.beat_out[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            failed(i);
        if (!done)
            continue;
        w.out.word = (int)word;
        MPI_Isend(&w.out, sizeof w.out, MPI_BYTE, i, TAG_BEAT, MPI_COMM_WORLD, &w.beat_out[i]);
    }
}

static bool here(int i)
{
    return strcmp(w.process[i].host, w.process[w.rank].host) == 0 && w.process[i].pids != 0 &&
           w.process[i].pids == w.process[w.rank].pids;
}

static void look(double now)
{
    char what[64];

    snprintf(what, sizeof what, "has not answered for %.0f s", w.timeout);
    for (int i = watched_from(); i < watched_to(); i++) {
        if (w.gone[i])
            continue;
        if (here(i) && kill((pid_t)w.process[i].pid, 0) != 0 && errno == ESRCH)
            lose(i, "has ended");
        if (now - w.heard[i] > w.timeout)
            lose(i, what);
    }
}

/* Called all the time. */
static void live(void)
{
    const double now = cli_now();

    if (now - w.awake > w.timeout / 4) /* this process itself was stopped: the others may live */
        for (int i = 0; i < w.size; i++)
            w.heard[i] = now;
    w.awake = now;
    if (now - w.looked < LOOK_SECONDS)
        return;
    w.looked = now;
    hear(now);
    look(now);
    if (now - w.beaten >= (w.timeout < 10 ? w.timeout / 10 : 1)) {
        w.beaten = now;
        tell(BEAT);
    }
}

/* ---- a flow */

/* Room for a flow: made once, for the largest. */
static void make_room(const tg_flow *flow)
{
    const size_t requests = tg_size_mul_sat(flow->window, flow->messages);
    struct under_way *way = &w.way;

    if (requests > w.requests) {
        way->request = realloc(way->request, requests * sizeof *way->request);
        way->peer = realloc(way->peer, requests * sizeof *way->peer);
        w.messages = realloc(w.messages, requests * sizeof *w.messages);
        w.requests = requests;
    }
    if (flow->window > w.groups) {
        way->n = realloc(way->n, flow->window * sizeof *way->n);
        way->left = realloc(way->left, flow->window * sizeof *way->left);
        w.groups = flow->window;
    }
    if (!way->request || !way->peer || !w.messages || !way->n || !way->left) {
        cli_mute(false);
        cli_say("process %d: out of memory: %zu messages at once", w.rank, requests);
        end_all();
    }
    way->posted = way->base = 0;
}

static void post(const tg_flow *flow, size_t group)
{
    const size_t at = group % flow->window;
    MPI_Request *request = w.way.request + at * flow->messages;
    int *peer = w.way.peer + at * flow->messages;
    const size_t n = flow->list(flow->context, group, w.messages);

    for (size_t i = 0; i < n; i++) {
        const tg_message *m = &w.messages[i];
        const int with = (int)m->peer, bytes = (int)m->bytes;
        const int result =
            m->send ? MPI_Isend(m->data, bytes, MPI_BYTE, with, TAG_DATA, MPI_COMM_WORLD, &request[i])
                    : MPI_Irecv(m->data, bytes, MPI_BYTE, with, TAG_DATA, MPI_COMM_WORLD, &request[i]);

        if (result != MPI_SUCCESS)
            failed(with);
        peer[i] = with;
    }
    w.way.n[at] = w.way.left[at] = (int)n;
}

/* Whether messages of a group have come to their end. */
static bool test(const tg_flow *flow, size_t group)
{
    const size_t at = group % flow->window;
    MPI_Request *request = w.way.request + at * flow->messages;
    const int *peer = w.way.peer + at * flow->messages;
    int done = 0;

    for (int i = 0; i < w.way.n[at] && w.way.left[at] > 0; i++) {
        int one = 0;

        if (request[i] == MPI_REQUEST_NULL)
            continue;
        if (MPI_Test(&request[i], &one, MPI_STATUS_IGNORE) != MPI_SUCCESS)
            failed(peer[i]);
        done += one;
        w.way.left[at] -= one;
    }
    return done > 0;
}

/* Go through the groups that are under way: begin those that may begin, and end those that have arrived.
 * Returns whether anything has happened. */
static bool advance(const tg_flow *flow, size_t ready)
{
    struct under_way *way = &w.way;
    bool any = false;

    while (way->posted < tg_size_min(ready, way->base + flow->window)) {
        post(flow, way->posted++);
        any = true;
    }
    for (size_t g = way->base; g < way->posted; g++)
        if (way->left[g % flow->window] > 0)
            any |= test(flow, g);
    for (; way->base < way->posted && way->left[way->base % flow->window] == 0; way->base++) {
        if (flow->arrived)
            flow->arrived(flow->context, way->base);
        any = true;
    }
    return any;
}

/* Wait for a word of the caller, but not for long. */
static void wait_for_caller(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(LOOK_SECONDS * 1e9);
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    pthread_cond_timedwait(&w.to_thread, &w.lock, &until);
}

/* Nothing has happened `times` times: leave the processor to others, longer and longer. */
static void rest(size_t times, bool waited)
{
    struct timespec t = {.tv_nsec = 5000};

    if (waited && times < YIELDS) {
        sched_yield();
        return;
    }
    for (size_t i = waited ? YIELDS : 0; i < times && t.tv_nsec < SLEEP_MAX; i += 4)
        t.tv_nsec *= 2;
    nanosleep(&t, NULL);
}

static void run_flow(const tg_flow *flow)
{
    size_t idle = 0, ready = 0;
    bool waited = false;

    make_room(flow);
    while (w.way.base < flow->groups) {
        pthread_mutex_lock(&w.lock);
        while (w.way.base == w.way.posted && w.ready == w.way.posted) { /* it is the caller's turn */
            pthread_mutex_unlock(&w.lock);
            live();
            pthread_mutex_lock(&w.lock);
            if (w.ready == w.way.posted)
                wait_for_caller();
        }
        ready = w.ready;
        waited = w.waited;
        pthread_mutex_unlock(&w.lock);
        if (advance(flow, ready))
            idle = 0;
        else
            rest(idle++, waited);
        live();
    }
}

/* ---- the thread */

/* Everybody tells everybody where it runs. */
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
    MPI_Allgather(&own, sizeof own, MPI_BYTE, w.process, sizeof own, MPI_BYTE, MPI_COMM_WORLD);
}

static void allocate(void)
{
    const size_t n = (size_t)w.size;

    w.process = calloc(n, sizeof *w.process);
    w.in = calloc(n, sizeof *w.in);
    w.beat_out = calloc(n, sizeof(MPI_Request));
    w.beat_in = calloc(n, sizeof(MPI_Request));
    w.heard = calloc(n, sizeof *w.heard);
    w.gone = calloc(n, sizeof *w.gone);
}

static tg_status join(tg_err *err)
{
    int level;

    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS)
        return tg_fail(err, TG_EIO, "MPI does not begin");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &w.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &w.size);
    if ((size_t)w.size != w.launch.size || level < MPI_THREAD_FUNNELED) {
        MPI_Finalize();
        return tg_fail(err, TG_EUSAGE,
                       "started as one of %zu processes (%s), but its MPI, " TEAM_MPI
                       ", knows %d: start it with that MPI's mpirun",
                       w.launch.size, w.launch.by, w.size);
    }
    allocate();
    if (!w.process || !w.in || !w.beat_out || !w.beat_in || !w.heard || !w.gone)
        return tg_fail_memory(err, (size_t)w.size * sizeof *w.process, "the processes");
    meet();
    w.awake = cli_now();
    for (int i = 0; i < w.size; i++) {
        w.heard[i] = w.awake;
        w.beat_out[i] = w.beat_in[i] = MPI_REQUEST_NULL;
    }
    for (int i = watched_from(); i < watched_to(); i++)
        expect_beat(i);
    return TG_OK;
}

/* The last beat of each is a goodbye, so that no message is left on its way: first those of the others, then
 * the first one's. */
static void part(void)
{
    const struct timespec moment = {.tv_nsec = 100 * 1000};
    bool all = w.rank != 0;

    while (!all) {
        live();
        hear(cli_now());
        all = true;
        for (int i = 1; i < w.size; i++)
            all &= w.gone[i];
        nanosleep(&moment, NULL);
    }
    while (!beats_are_out())
        nanosleep(&moment, NULL);
    tell(BYE);
    while (w.rank != 0 && !w.gone[0]) {
        hear(cli_now());
        look(cli_now());
        nanosleep(&moment, NULL);
    }
    while (!beats_are_out())
        nanosleep(&moment, NULL);
    MPI_Finalize();
}

static void *work(void *nothing)
{
    tg_status status = join(w.err);

    pthread_mutex_lock(&w.lock);
    w.status = status;
    w.started = true;
    pthread_cond_signal(&w.to_caller);
    while (!status && !w.leave) {
        const tg_flow *flow = w.flow;

        if (!flow)
            wait_for_caller();
        pthread_mutex_unlock(&w.lock);
        if (flow)
            run_flow(flow);
        live();
        pthread_mutex_lock(&w.lock);
        if (flow) {
            w.flow = NULL;
            pthread_cond_signal(&w.to_caller);
        }
    }
    pthread_mutex_unlock(&w.lock);
    if (!status)
        part();
    return nothing;
}

/* ---- the caller's side */

static void begin(const tg_team *team, const tg_flow *flow)
{
    (void)team;
    pthread_mutex_lock(&w.lock);
    w.ready = 0;
    w.waited = false;
    w.flow = flow;
    pthread_mutex_unlock(&w.lock);
}

static void ready(const tg_team *team, size_t groups)
{
    (void)team;
    pthread_mutex_lock(&w.lock);
    w.ready = groups;
    pthread_cond_signal(&w.to_thread);
    pthread_mutex_unlock(&w.lock);
}

static void end(const tg_team *team)
{
    (void)team;
    pthread_mutex_lock(&w.lock);
    w.waited = true;
    pthread_cond_signal(&w.to_thread);
    while (w.flow)
        pthread_cond_wait(&w.to_caller, &w.lock);
    pthread_mutex_unlock(&w.lock);
}

static bool start_thread(void)
{
    pthread_condattr_t clock;
    sigset_t all, before;
    bool ok;

    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&w.to_thread, &clock);
    pthread_cond_init(&w.to_caller, &clock);
    pthread_condattr_destroy(&clock);
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ok = pthread_create(&w.thread, NULL, work, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

tg_status team_connect(tg_team *team, const team_launch *launch, double timeout, tg_err *err)
{
    w.launch = *launch;
    w.timeout = timeout;
    w.err = err;
    if (!start_thread())
        return tg_fail(err, TG_EIO, "cannot create a thread");
    pthread_mutex_lock(&w.lock);
    while (!w.started)
        pthread_cond_wait(&w.to_caller, &w.lock);
    pthread_mutex_unlock(&w.lock);
    if (w.status) {
        pthread_join(w.thread, NULL);
        return w.status;
    }
    *team =
        (tg_team){.rank = (size_t)w.rank, .size = (size_t)w.size, .begin = begin, .ready = ready, .end = end};
    return TG_OK;
}

void team_part(void)
{
    pthread_mutex_lock(&w.lock);
    w.leave = true;
    pthread_cond_signal(&w.to_thread);
    pthread_mutex_unlock(&w.lock);
    pthread_join(w.thread, NULL);
}

size_t team_sharing(void)
{
    size_t n = 0;

    for (int i = 0; i < w.size; i++) {
        cpu_set_t common;

        CPU_AND(&common, &w.process[i].processors, &w.process[w.rank].processors);
        n += strcmp(w.process[i].host, w.process[w.rank].host) == 0 && CPU_COUNT(&common) > 0;
    }
    return n > 0 ? n : 1;
}
