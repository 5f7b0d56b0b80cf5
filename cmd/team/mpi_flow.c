/*
 * team: a flow's messages, on their way.
 *
 * The thread never waits inside MPI: it looks, and sleeps in between, so that it takes no processor from
 * those who compute.
 */
#define _GNU_SOURCE /* cpu_set_t */
#include <limits.h>
#include <stdlib.h>
#include <time.h>

#include "cmd/cli/cli.h"
#include "cmd/team/mpi.h"
#include "lib/base/size.h"

#define YIELDS 200        /* looks without a sleep, while nothing else is to be done */
#define SLEEP_MAX 200000L /* nanoseconds */

/* Room for a flow: made once, for the largest. */
static void make_room(const tg_flow *flow)
{
    const size_t requests = tg_size_mul_sat(flow->window, flow->messages);
    struct under_way *way = &team_w.way;

    if (requests > team_w.requests) {
        way->request = realloc(way->request, requests * sizeof *way->request);
        way->peer = realloc(way->peer, requests * sizeof *way->peer);
        way->bytes = realloc(way->bytes, requests * sizeof *way->bytes);
        team_w.requests = requests;
    }
    if (flow->messages > team_w.list) {
        team_w.messages = realloc(team_w.messages, flow->messages * sizeof *team_w.messages);
        team_w.list = flow->messages;
    }
    if (flow->window > team_w.groups) {
        way->n = realloc(way->n, flow->window * sizeof *way->n);
        way->left = realloc(way->left, flow->window * sizeof *way->left);
        team_w.groups = flow->window;
    }
    if (!way->request || !way->peer || !way->bytes || !team_w.messages || !way->n || !way->left) {
        cli_mute(false);
        cli_say("process %d: out of memory: %zu messages at once", team_w.rank, requests);
        team_end_all();
    }
    way->posted = way->base = 0;
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
    MPI_Request *request = team_w.way.request + at * flow->messages;
    int *peer = team_w.way.peer + at * flow->messages;
    const size_t n = flow->list(flow->context, group, team_w.messages);

    for (size_t i = 0; i < n; i++) {
        const tg_message *m = &team_w.messages[i];
        const int with = (int)m->peer, bytes = size_for_mpi(m->bytes);
        const int result =
            m->send ? MPI_Isend(m->data, bytes, MPI_BYTE, with, TAG_DATA, MPI_COMM_WORLD, &request[i])
                    : MPI_Irecv(m->data, bytes, MPI_BYTE, with, TAG_DATA, MPI_COMM_WORLD, &request[i]);

        if (result != MPI_SUCCESS)
            team_failed(with, result);
        peer[i] = with;
        team_w.way.bytes[at * flow->messages + i] = m->send ? -1 : bytes;
    }
    team_w.way.n[at] = team_w.way.left[at] = (int)n;
}

/* Whether messages of a group have come to their end. */
static bool test(const tg_flow *flow, size_t group)
{
    const size_t at = group % flow->window;
    MPI_Request *request = team_w.way.request + at * flow->messages;
    const int *peer = team_w.way.peer + at * flow->messages, *bytes = team_w.way.bytes + at * flow->messages;
    const int before = team_w.way.left[at];

    for (int i = 0; i < team_w.way.n[at] && team_w.way.left[at] > 0; i++) {
        if (request[i] != MPI_REQUEST_NULL)
            team_w.way.left[at] -= team_is_done(&request[i], peer[i], bytes[i]);
    }
    return team_w.way.left[at] < before;
}

/* Go through the groups that are under way: begin those that may begin, and end those that have arrived.
 * Returns whether anything has happened. */
static bool advance(const tg_flow *flow, size_t ready)
{
    struct under_way *way = &team_w.way;
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
    while (team_w.way.base < flow->groups) {
        pthread_mutex_lock(&team_w.lock);
        while (team_w.way.base == team_w.way.posted &&
               team_w.ready == team_w.way.posted) { /* it is the caller's turn */
            pthread_mutex_unlock(&team_w.lock);
            team_live();
            pthread_mutex_lock(&team_w.lock);
            if (team_w.ready == team_w.way.posted)
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
