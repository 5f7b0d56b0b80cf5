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

struct sharing {
    const tg_team *team;
    unsigned char *all;
    const size_t *offset; /* NULL: `each` bytes of every member */
    size_t each;
};

static size_t offset_of(const struct sharing *s, size_t rank)
{
    return s->offset ? s->offset[rank] : rank * s->each;
}

static tg_message message_of(const struct sharing *s, size_t peer, bool send)
{
    const size_t from = send ? s->team->rank : peer;
    const size_t begin = offset_of(s, from);

    return (tg_message){peer, send, s->all + begin, offset_of(s, from + 1) - begin};
}

static size_t list_sharing(void *context, size_t group, tg_message *messages)
{
    const struct sharing *s = context;
    const size_t size = s->team->size;
    size_t n = 0;

    (void)group;
    for (size_t i = 1; i < size; i++) { /* each member begins with another peer */
        messages[n++] = message_of(s, (s->team->rank + i) % size, true);
        messages[n++] = message_of(s, (s->team->rank + size - i) % size, false);
    }
    return n;
}

static void share(struct sharing *s)
{
    tg_team_run(s->team, &(tg_flow){.groups = 1,
                                    .window = 1,
                                    .messages = 2 * (s->team->size - 1),
                                    .list = list_sharing,
                                    .context = s});
}

void tg_team_share(const tg_team *team, void *all, const size_t *offset)
{
    share(&(struct sharing){.team = team, .all = all, .offset = offset});
}

void tg_team_share_even(const tg_team *team, void *all, size_t each)
{
    share(&(struct sharing){.team = team, .all = all, .each = each});
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
