#include "tests/unit/thread_team.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/check.h"

enum { WINDOW_MAX = 64 };

/* What one member has under way, for the others to see. */
struct office {
    const tg_flow *flow;
    size_t ready, listed, base;      /* groups: may begin, are listed, have all arrived */
    tg_message *message[WINDOW_MAX]; /* [window] of the listed ones, as a ring */
    size_t n[WINDOW_MAX];
};

/* Messages are copied from one member's memory to the other's, by whoever comes last, under one lock.  Groups
 * are kept apart as a transport of messages would: the k-th message between two is the k-th. */
struct threads_team {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t size;
    struct office office[THREAD_TEAM_MAX];
    struct {
        unsigned char *bytes; /* what is on its way from one to another */
        size_t n;
    } wire[THREAD_TEAM_MAX][THREAD_TEAM_MAX];
};

static void post(struct threads_team *all, size_t from, const tg_message *m)
{
    unsigned char **bytes = &all->wire[from][m->peer].bytes;
    size_t *n = &all->wire[from][m->peer].n;

    *bytes = realloc(*bytes, *n + m->bytes + 1);
    memcpy(*bytes + *n, m->data, m->bytes);
    *n += m->bytes;
}

/* Whether a message that is received is there; it is taken. */
static bool take_message(struct threads_team *all, size_t to, const tg_message *m)
{
    unsigned char *bytes = all->wire[m->peer][to].bytes;
    size_t *n = &all->wire[m->peer][to].n;

    if (*n < m->bytes || (m->bytes == 0 && !bytes))
        return m->bytes == 0;
    memcpy(m->data, bytes, m->bytes);
    *n -= m->bytes;
    memmove(bytes, bytes + m->bytes, *n);
    return true;
}

/* List what may be listed.  What is sent leaves at once. */
static bool list_groups(struct threads_team *all, size_t rank)
{
    struct office *o = &all->office[rank];
    bool any = false;

    while (o->listed < o->ready && o->listed < o->base + o->flow->window) {
        const size_t at = o->listed % o->flow->window;

        CHECK(o->flow->window <= WINDOW_MAX);
        o->message[at] = malloc(o->flow->messages * sizeof(tg_message) + 1);
        o->n[at] = o->flow->list(o->flow->context, o->listed, o->message[at]);
        CHECK(o->n[at] <= o->flow->messages);
        for (size_t i = 0; i < o->n[at]; i++) {
            CHECK(o->message[at][i].peer < all->size && o->message[at][i].peer != rank);
            if (o->message[at][i].send)
                post(all, rank, &o->message[at][i]);
        }
        o->listed++;
        any = true;
    }
    return any;
}

/* Take what has arrived, in order. */
static bool take_groups(struct threads_team *all, size_t rank)
{
    struct office *o = &all->office[rank];
    bool any = false, stuck[THREAD_TEAM_MAX] = {false};

    for (size_t g = o->base; g < o->listed; g++) {
        const size_t at = g % o->flow->window;

        for (size_t i = 0; i < o->n[at]; i++) {
            tg_message *m = &o->message[at][i];

            if (m->send || !m->data || stuck[m->peer])
                continue;
            stuck[m->peer] = !take_message(all, rank, m);
            if (!stuck[m->peer]) {
                m->data = NULL;
                any = true;
            }
        }
    }
    for (; o->base < o->listed; o->base++, any = true) {
        const size_t at = o->base % o->flow->window;

        for (size_t i = 0; i < o->n[at]; i++)
            if (!o->message[at][i].send && o->message[at][i].data)
                return any;
        free(o->message[at]);
        if (o->flow->arrived)
            o->flow->arrived(o->flow->context, o->base);
    }
    return any;
}

static bool go_on(struct threads_team *all, size_t rank)
{
    const bool listed = list_groups(all, rank);

    return take_groups(all, rank) || listed;
}

static void threads_begin(const tg_team *team, const tg_flow *flow)
{
    struct threads_team *all = team->state;

    all->office[team->rank] = (struct office){.flow = flow};
}

static void threads_ready(const tg_team *team, size_t groups)
{
    struct threads_team *all = team->state;

    pthread_mutex_lock(&all->lock);
    CHECK(groups >= all->office[team->rank].ready);
    all->office[team->rank].ready = groups;
    while (go_on(all, team->rank))
        pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
}

static void threads_end(const tg_team *team)
{
    struct threads_team *all = team->state;
    struct office *o = &all->office[team->rank];

    pthread_mutex_lock(&all->lock);
    CHECK_EQ(o->ready, o->flow->groups);
    while (o->base < o->flow->groups) {
        if (go_on(all, team->rank))
            pthread_cond_broadcast(&all->changed);
        else
            pthread_cond_wait(&all->changed, &all->lock);
    }
    pthread_mutex_unlock(&all->lock);
}

struct member_thread {
    pthread_t thread;
    tg_team team;
    void (*work)(const tg_team *team, void *context);
    void *context;
};

static void *run_member(void *of)
{
    const struct member_thread *m = of;

    m->work(&m->team, m->context);
    return NULL;
}

void thread_team_run(size_t size, void (*work)(const tg_team *team, void *context), void *context)
{
    struct threads_team all = {
        .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER, .size = size};
    struct member_thread member[THREAD_TEAM_MAX];

    for (size_t i = 0; i < size; i++) {
        member[i] = (struct member_thread){
            .team = {.rank = i,
                     .size = size,
                     .begin = threads_begin,
                     .ready = threads_ready,
                     .end = threads_end,
                     .state = &all},
            .work = work,
            .context = context,
        };
        CHECK(pthread_create(&member[i].thread, NULL, run_member, &member[i]) == 0);
    }
    for (size_t i = 0; i < size; i++)
        pthread_join(member[i].thread, NULL);
    for (size_t i = 0; i < size; i++)
        for (size_t k = 0; k < size; k++) {
            CHECK_EQ(all.wire[i][k].n, 0); /* nothing is left on its way */
            free(all.wire[i][k].bytes);
        }
}
