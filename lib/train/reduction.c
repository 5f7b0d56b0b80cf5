#include "lib/train/reduction.h"

#include <assert.h>
#include <string.h>

#include "lib/base/size.h"

/* ---- which parts there are */

/* Add the parts of a member.  Without r->part they are only counted. */
static void add_parts(tg_reduction *r, size_t member)
{
    tg_tree_sum s = {.passes = r->passes, .buffers = TG_TREE_PARTS_MAX};
    size_t first, end;

    tg_team_part(r->team, member, r->passes, &first, &end);
    for (size_t i = first; i < end; i++)
        tg_tree_sum_push(&s, i, i + 1, 0);
    for (size_t i = 0; r->part && i < s.n; i++)
        r->part[r->n + i] = (tg_reduction_part){member, s.part[i].first, s.part[i].end};
    r->n += s.n;
}

static void add_members(tg_reduction *r)
{
    r->n = 0;
    for (size_t member = 0; member < r->team->size; member++) {
        const size_t first = r->n;

        add_parts(r, member);
        if (member == r->team->rank)
            r->own_n = r->n - first;
        if (r->first)
            r->first[member + 1] = r->n;
    }
}

/* ---- what is sent and received */

/* The place where a part of segment s is, or is received: in the member's own gradients, or in a slot.
 * part is an index of r->part. */
static float *place_of(const tg_reduction *r, const tg_segment *s, size_t part)
{
    const size_t own = r->first[r->team->rank];
    const size_t others = r->n - r->own_n, slot = s->number % r->partition->slots;

    if (part >= own && part < own + r->own_n)
        return r->own->part[part - own].grads + s->begin;
    if (part > own)
        part -= r->own_n;
    return r->slot + (slot * others + part) * r->partition->longest;
}

static size_t list(void *context, size_t group, tg_message *messages)
{
    const tg_reduction *r = context;
    const tg_segment *s = &r->partition->segment[group];
    const bool mine = s->owner == r->team->rank;
    size_t n = 0;

    tg_tree_sum_merge_floats(r->own, s->begin, s->end);
    for (size_t i = 0; i < r->n; i++)
        if ((r->part[i].member == r->team->rank) != mine)
            messages[n++] = (tg_message){.peer = mine ? r->part[i].member : s->owner,
                                         .send = !mine,
                                         .data = place_of(r, s, i),
                                         .bytes = (s->end - s->begin) * sizeof(float)};
    return n;
}

/* Add up a segment: all parts in order, into the first part's place. */
static void arrived(void *context, size_t group)
{
    const tg_reduction *r = context;
    const tg_segment *s = &r->partition->segment[group];
    tg_tree_sum sum = {.passes = r->passes, .floats = s->end - s->begin, .buffers = TG_TREE_PARTS_MAX};

    if (s->owner != r->team->rank)
        return;
    for (size_t i = 0; i < r->n; i++) {
        sum.part[sum.n].grads = place_of(r, s, i);
        tg_tree_sum_push(&sum, r->part[i].first, r->part[i].end, 0);
    }
    assert(sum.n == 1);
    if (r->first[r->team->rank] > 0)
        memcpy(r->own->part[0].grads + s->begin, sum.part[0].grads, sum.floats * sizeof(float));
}

const tg_flow *tg_reduction_flow(tg_reduction *r, const tg_partition *partition, tg_tree_sum *own)
{
    r->partition = partition;
    r->own = own;
    r->flow = (tg_flow){.groups = r->partition->n,
                        .window = r->partition->window,
                        .messages = r->n,
                        .list = list,
                        .arrived = arrived,
                        .context = r};
    return &r->flow;
}

double tg_reduction_loss(const tg_reduction *r, const tg_part_result *result)
{
    tg_tree_sum sum = {.passes = r->passes, .buffers = TG_TREE_PARTS_MAX};

    for (size_t i = 0; i < r->n; i++)
        tg_tree_sum_push(&sum, r->part[i].first, r->part[i].end, result[i].loss);
    return sum.part[0].loss;
}

void tg_reduction_place(tg_arena *arena, tg_reduction *r, const tg_team *team, const tg_partition *partition,
                        const tg_tree_sum *own)
{
    size_t received;

    *r = (tg_reduction){.team = team, .passes = own->passes};
    add_members(r); /* counts them */
    r->part = tg_arena_take(arena, r->n, sizeof *r->part);
    r->first = tg_arena_take(arena, team->size + 1, sizeof *r->first);
    received = tg_size_mul_sat(r->n - r->own_n, partition->longest);
    r->slot = tg_arena_take_rows(arena, partition->slots, received, sizeof *r->slot);
    if (r->part)
        add_members(r);
}
