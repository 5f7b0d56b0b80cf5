#include "lib/base/team.h"

#include "lib/base/size.h"

/* A team of one sends nothing. */
static void begin_alone(const tg_team *team, const tg_flow *flow)
{
    (void)team, (void)flow;
}

static void ready_alone(const tg_team *team, size_t groups)
{
    (void)team, (void)groups;
}

static void end_alone(const tg_team *team)
{
    (void)team;
}

const tg_team tg_team_alone = {.size = 1, .begin = begin_alone, .ready = ready_alone, .end = end_alone};

void tg_team_part(const tg_team *team, size_t rank, size_t n, size_t *first, size_t *end)
{
    const size_t each = n / team->size, more = n % team->size;

    /* the first `more` members have one more */
    *first = rank * each + (rank < more ? rank : more);
    *end = *first + each + (rank < more);
}

void tg_team_range(const tg_team *team, size_t n, size_t *first, size_t *end)
{
    tg_team_part(team, team->rank, n, first, end);
}

void tg_team_run(const tg_team *team, const tg_flow *flow)
{
    team->begin(team, flow);
    team->ready(team, flow->groups);
    team->end(team);
}

/* ---- small things, of all to all */

struct gathering {
    const tg_team *team;
    const tg_gather *array; /* one for each group */
};

static tg_message message_of(const tg_team *team, const tg_gather *a, size_t peer, bool send)
{
    const size_t member = send ? team->rank : peer;
    size_t first, end;

    if (a->first) {
        first = a->first[member];
        end = a->first[member + 1];
    } else {
        tg_team_part(team, member, a->n, &first, &end);
    }
    return (tg_message){peer, send, (unsigned char *)a->all + first * a->bytes, (end - first) * a->bytes};
}

static size_t list_gathering(void *context, size_t group, tg_message *messages)
{
    const struct gathering *g = context;
    const size_t rank = g->team->rank, size = g->team->size;
    size_t n = 0;

    for (size_t i = 1; i < size; i++) { /* each member begins with another peer */
        messages[n++] = message_of(g->team, &g->array[group], (rank + i) % size, true);
        messages[n++] = message_of(g->team, &g->array[group], (rank + size - i) % size, false);
    }
    return n;
}

void tg_team_allgather_arrays(const tg_team *team, const tg_gather *array, size_t arrays)
{
    tg_team_run(team, &(tg_flow){.groups = arrays,
                                 .window = arrays,
                                 .messages = 2 * (team->size - 1),
                                 .list = list_gathering,
                                 .context = &(struct gathering){team, array}});
}

void tg_team_allgather(const tg_team *team, void *all, size_t n, size_t bytes)
{
    tg_team_allgather_arrays(team, &(tg_gather){.all = all, .bytes = bytes, .n = n}, 1);
}

/* ---- one number */

/* The members' numbers go to member 0, which answers. */
struct agreement {
    const tg_team *team;
    int *number; /* [size] at member 0, otherwise [1] */
    bool answer;
};

static size_t list_agreement(void *context, size_t group, tg_message *messages)
{
    const struct agreement *a = context;
    const bool first = a->team->rank == 0;
    size_t n = 0;

    (void)group;
    for (size_t peer = first ? 1 : 0; peer < (first ? a->team->size : 1); peer++)
        messages[n++] = (tg_message){peer, first == a->answer, &a->number[first && !a->answer ? peer : 0],
                                     sizeof *a->number};
    return n;
}

static void send_numbers(struct agreement *a)
{
    tg_team_run(
        a->team,
        &(tg_flow){
            .groups = 1, .window = 1, .messages = a->team->size, .list = list_agreement, .context = a});
}

int tg_team_agree(const tg_team *team, int number)
{
    int numbers[TG_TEAM_MAX];

    numbers[0] = number;
    send_numbers(&(struct agreement){team, numbers, false});
    for (size_t i = 1; team->rank == 0 && i < team->size; i++)
        numbers[0] = numbers[i] > numbers[0] ? numbers[i] : numbers[0];
    send_numbers(&(struct agreement){team, numbers, true});
    return numbers[0];
}

/* ---- bytes of member 0 */

#define BLOCK ((size_t)1 << 20) /* bytes of a message */

struct spreading {
    const tg_team *team;
    unsigned char *data;
    size_t bytes;
};

static size_t list_spreading(void *context, size_t group, tg_message *messages)
{
    const struct spreading *s = context;
    const bool first = s->team->rank == 0;
    const size_t n = tg_size_min(BLOCK, s->bytes - group * BLOCK);

    for (size_t i = 0; i + 1 < s->team->size && (first || i == 0); i++)
        messages[i] = (tg_message){first ? i + 1 : 0, first, s->data + group * BLOCK, n};
    return first ? s->team->size - 1 : 1;
}

void tg_team_spread(const tg_team *team, void *data, size_t bytes)
{
    struct spreading s = {team, data, bytes};

    tg_team_run(team, &(tg_flow){.groups = tg_ceil_div(bytes, BLOCK),
                                 .window = 8,
                                 .messages = team->size,
                                 .list = list_spreading,
                                 .context = &s});
}
