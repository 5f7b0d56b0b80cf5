#include "lib/base/team.h"

#include "lib/base/size.h"

const tg_team tg_team_alone = {.size = 1};

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
    if (team->size == 1)
        return;
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

/* ---- between member 0 and each other */

#define BLOCK ((size_t)1 << 20) /* bytes of a message */

/* Member 0's bytes, to all; or each one's, to member 0. */
struct star {
    const tg_team *team;
    unsigned char *data; /* [bytes]; gathered at member 0: [size,bytes] */
    size_t bytes;
    bool gather;
};

static size_t list_star(void *context, size_t group, tg_message *messages)
{
    const struct star *s = context;
    const bool first = s->team->rank == 0;
    const size_t others = first ? s->team->size - 1 : 1, each = first && s->gather ? s->bytes : 0;
    const size_t at = group * BLOCK, n = tg_size_min(BLOCK, s->bytes - at);

    for (size_t i = 0; i < others; i++)
        messages[i] = (tg_message){first ? i + 1 : 0, first != s->gather, s->data + (i + 1) * each + at, n};
    return others;
}

static void run_star(struct star *s)
{
    tg_team_run(s->team, &(tg_flow){.groups = tg_ceil_div(s->bytes, BLOCK),
                                    .window = 8,
                                    .messages = s->team->size,
                                    .list = list_star,
                                    .context = s});
}

void tg_team_spread(const tg_team *team, void *data, size_t bytes)
{
    run_star(&(struct star){.team = team, .data = data, .bytes = bytes});
}

int tg_team_agree(const tg_team *team, int number)
{
    int numbers[TG_TEAM_MAX];

    numbers[0] = number;
    run_star(&(struct star){team, (unsigned char *)numbers, sizeof number, .gather = true});
    for (size_t i = 1; team->rank == 0 && i < team->size; i++)
        numbers[0] = numbers[i] > numbers[0] ? numbers[i] : numbers[0];
    tg_team_spread(team, numbers, sizeof number);
    return numbers[0];
}
