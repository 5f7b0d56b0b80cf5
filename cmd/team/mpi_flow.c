/*
 * team: a flow's messages, on their way.
 *
 * The thread never waits inside MPI: it looks, and sleeps in between, so that it takes no processor from
 * those who compute.
 */
#define _GNU_SOURCE /* cpu_set_t */
#include <limits.h>
#include <time.h>

#include "cmd/cli/cli.h"
#include "cmd/team/mpi.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"

#define YIELDS 200        /* looks without a sleep, while nothing else is to be done */
#define SLEEP_MAX 200000L /* nanoseconds */

/* A message that is under way. */
struct posted {
    MPI_Request request;
    int peer, bytes; /* -1 bytes: it is sent */
};

/* The messages of a group, and those of them that are not done. */
struct posted_group {
    size_t n, left;
};

/* The groups of a flow that are under way, as a ring. */
static struct {
    struct posted *message;         /* [window,messages] */
    struct posted_group *group;     /* [window] */
    size_t posted, base;            /* groups: begun; done, with all before them */
    tg_message *list;               /* of a group */
    size_t messages, groups, lists; /* that there is room for */
} way;

/* Room for a flow: made once, for the largest. */
static void make_room(const tg_flow *flow)
{
    const size_t messages = tg_size_mul_sat(flow->window, flow->messages);

    if (tg_grow(&way.message, &way.messages, messages, sizeof *way.message, "messages", NULL) ||
        tg_grow(&way.group, &way.groups, flow->window, sizeof *way.group, "groups", NULL) ||
        tg_grow(&way.list, &way.lists, flow->messages, sizeof *way.list, "a list", NULL)) {
        cli_mute(false);
        cli_say("process %d: out of memory: %zu messages at once", team_w.rank, messages);
        team_end_all();
    }
    way.posted = way.base = 0;
}

static int size_for_mpi(size_t bytes)
{
    if (bytes > INT_MAX) {
        cli_mute(false);
        cli_say("process %d: a message of %zu bytes: MPI sends at most %d", team_w.rank, bytes, INT_MAX);
        team_end_all();
    }
    return (int)bytes;
}

static void post(const tg_flow *flow, size_t group)
{
    const size_t at = group % flow->window;
    struct posted *posted = way.message + at * flow->messages;
    const size_t n = flow->list(flow->context, group, way.list);

    for (size_t i = 0; i < n; i++) {
        const tg_message *m = &way.list[i];
        MPI_Request *request = &posted[i].request;
        const int with = (int)m->peer, bytes = size_for_mpi(m->bytes);
        const int result = m->send
                               ? MPI_Isend(m->data, bytes, MPI_BYTE, with, TAG_DATA, MPI_COMM_WORLD, request)
                               : MPI_Irecv(m->data, bytes, MPI_BYTE, with, TAG_DATA, MPI_COMM_WORLD, request);

        if (result != MPI_SUCCESS)
            team_failed(with, result);
        posted[i].peer = with;
        posted[i].bytes = m->send ? -1 : bytes;
    }
    way.group[at] = (struct posted_group){n, n};
}

/* Whether messages of a group have come to their end. */
static bool test(const tg_flow *flow, size_t group)
{
    const size_t at = group % flow->window;
    struct posted *message = way.message + at * flow->messages;
    struct posted_group *g = &way.group[at];
    const size_t before = g->left;

    for (size_t i = 0; i < g->n && g->left > 0; i++) {
        if (message[i].request != MPI_REQUEST_NULL)
            g->left -= team_is_done(&message[i].request, message[i].peer, message[i].bytes);
    }
    return g->left < before;
}

/* Go through the groups that are under way: begin those that may begin, and end those that have arrived.
 * Returns whether anything has happened. */
static bool advance(const tg_flow *flow, size_t ready)
{
    bool any = false;

    while (way.posted < tg_size_min(ready, way.base + flow->window)) {
        post(flow, way.posted++);
        any = true;
    }
    for (size_t g = way.base; g < way.posted; g++)
        if (way.group[g % flow->window].left > 0)
            any |= test(flow, g);
    for (; way.base < way.posted && way.group[way.base % flow->window].left == 0; way.base++) {
        if (flow->arrived)
            flow->arrived(flow->context, way.base);
        any = true;
    }
    return any;
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

void team_run_flow(const tg_flow *flow)
{
    size_t idle = 0, ready = 0;
    bool waited = false;

    make_room(flow);
    team_w.busy = true;
    while (way.base < flow->groups) {
        pthread_mutex_lock(&team_w.lock);
        while (way.base == way.posted && team_w.ready == way.posted) { /* it is the caller's turn */
            pthread_mutex_unlock(&team_w.lock);
            team_live();
            pthread_mutex_lock(&team_w.lock);
            if (team_w.ready == way.posted)
                team_wait_for_caller();
        }
        ready = team_w.ready;
        waited = team_w.waited;
        pthread_mutex_unlock(&team_w.lock);
        if (advance(flow, ready))
            idle = 0;
        else
            rest(idle++, waited);
        team_live();
    }
    team_w.busy = false;
}
