#include "lib/train/team.h"

#include <assert.h>

static tg_status sum_alone(const tg_team *team, tg_tree_sum *s, tg_err *err)
{
    (void)team;
    (void)err;
    assert(s->n == 1 && s->part[0].first == 0 && s->part[0].end == s->passes);
    return TG_OK;
}

static int agree_alone(const tg_team *team, int number)
{
    (void)team;
    return number;
}

const tg_team tg_team_alone = {.size = 1, .sum = sum_alone, .agree = agree_alone};

void tg_team_range(const tg_team *team, size_t passes, size_t *first, size_t *end)
{
    const size_t each = passes / team->size, more = passes % team->size;

    /* the first `more` members have one pass more */
    *first = team->rank * each + (team->rank < more ? team->rank : more);
    *end = *first + each + (team->rank < more);
}
