#include "lib/train/partition.h"

#include "lib/base/size.h"
#include "lib/gpt/adamw.h"

#define SEGMENT_BLOCKS ((size_t)8)        /* the most in a segment: 512 KiB */
#define RECEIVED_BYTES ((size_t)32 << 20) /* about what a member receives at once, of a large team */
#define UNDER_WAY 4                       /* segments of each owner */

/* The blocks of a segment: fewer in a large team, whose owners receive one from each member. */
static size_t segment_blocks(size_t size)
{
    const size_t fit = RECEIVED_BYTES / (UNDER_WAY * size * tg_adamw_block() * sizeof(float));

    return tg_size_max(1, tg_size_min(SEGMENT_BLOCKS, fit));
}

/* The first float that stage `stage` finishes: after the blocks; each block, from the last to the first;
 * and what is before them. */
static size_t stage_begin(const tg_params *table, size_t stage)
{
    if (stage > table->blocks)
        return 0;
    return table->block_begin[table->blocks - stage];
}

/* ---- segments */

/* What is laid out: segments of which parameters. */
struct layout {
    tg_partition *partition;
    const tg_params *table;
    enum { ALL, HIDDEN, OTHERS } of;
    size_t turn; /* segments so far, of all parameters: whose turn it is */
};

static void append(tg_partition *s, const tg_segment *segment)
{
    if (segment->begin >= segment->end)
        return;
    s->longest = tg_size_max(s->longest, segment->end - segment->begin);
    if (s->segment)
        s->segment[s->n] = *segment;
    s->n++;
}

/* Append what a segment has of the parameters that are wanted. */
static void append_some(const struct layout *l, const tg_segment *segment)
{
    for (size_t i = 0; i < l->table->n; i++) {
        const tg_param *p = &l->table->entry[i];
        tg_segment some = *segment;

        some.begin = tg_size_max(some.begin, p->offset);
        some.end = tg_size_min(some.end, p->offset + p->count);
        if (p->hidden == (l->of == HIDDEN))
            append(l->partition, &some);
    }
}

/* Append blocks begin .. end - 1 as a segment.  Its owner is the next member in turn. */
static void append_blocks(struct layout *l, size_t begin, size_t end)
{
    const size_t block = tg_adamw_block(), size = l->partition->team->size;
    const tg_segment segment = {begin * block, tg_size_min(end * block, l->table->floats), l->turn % size,
                                l->turn / size};

    if (l->of == ALL)
        append(l->partition, &segment);
    else
        append_some(l, &segment);
    l->turn++;
}

/* Divide blocks begin .. end - 1 among all, in as many rounds as it takes. */
static void divide(struct layout *l, size_t begin, size_t end)
{
    const size_t size = l->partition->team->size, most = segment_blocks(size);
    const size_t rounds = tg_ceil_div(tg_ceil_div(end - begin, size), most);

    for (size_t round = 0; round < rounds; round++)
        for (size_t part = 0; part < size; part++) {
            size_t first, last;

            tg_team_part(l->partition->team, part, end - begin, &first, &last);
            first += round * most;
            last = tg_size_min(last, first + most);
            if (first < last)
                append_blocks(l, begin + first, begin + last);
        }
}

static void lay_out(struct layout *l)
{
    size_t end = tg_adamw_work(l->table);

    l->partition->n = l->turn = 0;
    for (size_t stage = 0; stage < l->table->blocks + 2; stage++) {
        const size_t begin = tg_size_min(end, tg_ceil_div(stage_begin(l->table, stage), tg_adamw_block()));

        divide(l, begin, end);
        end = begin;
    }
}

static void place(tg_arena *arena, struct layout *l)
{
    lay_out(l); /* counts them */
    l->partition->segment = tg_arena_take(arena, l->partition->n, sizeof *l->partition->segment);
    if (l->partition->segment)
        lay_out(l);
}

static tg_partition empty(const tg_team *team)
{
    return (tg_partition){.team = team, .window = UNDER_WAY * team->size, .slots = UNDER_WAY};
}

void tg_partition_place(tg_arena *arena, tg_partition *partition, const tg_params *table, const tg_team *team)
{
    *partition = empty(team);
    place(arena, &(struct layout){.partition = partition, .table = table, .of = ALL});
}

void tg_partition_place_some(tg_arena *arena, tg_partition *partition, const tg_params *table,
                             const tg_team *team, bool hidden)
{
    *partition = empty(team);
    place(arena, &(struct layout){.partition = partition, .table = table, .of = hidden ? HIDDEN : OTHERS});
}

/* Append a parameter, in segments of the usual length. */
static void append_param(tg_partition *s, const tg_param *p, size_t owner)
{
    const size_t most = segment_blocks(s->team->size) * tg_adamw_block();

    for (size_t at = 0; at < p->count; at += most)
        append(s, &(tg_segment){p->offset + at, p->offset + tg_size_min(at + most, p->count), owner, 0});
}

static void lay_out_owned(tg_partition *s, const tg_params *table, const size_t *owner)
{
    s->n = 0;
    for (size_t i = 0; i < table->n; i++)
        if (table->entry[i].hidden)
            append_param(s, &table->entry[i], owner ? owner[i] : 0);
}

void tg_partition_place_owned(tg_arena *arena, tg_partition *partition, const tg_params *table,
                              const tg_team *team, const size_t *owner)
{
    *partition = empty(team);
    lay_out_owned(partition, table, NULL); /* counts them */
    partition->segment = tg_arena_take(arena, partition->n, sizeof *partition->segment);
    if (partition->segment)
        lay_out_owned(partition, table, owner);
}

size_t tg_partition_from(const tg_partition *partition, size_t first)
{
    size_t n = 0;

    while (n < partition->n && partition->segment[n].begin >= first)
        n++;
    return n;
}

/* ---- flat buffers on their way */

struct transport {
    const tg_partition *partition;
    tg_flat flat;
    tg_route route;
};

static size_t list_segment(void *context, size_t group, tg_message *messages)
{
    const struct transport *t = context;
    const tg_segment *s = &t->partition->segment[group];
    const size_t rank = t->partition->team->rank, size = t->partition->team->size;
    const size_t from = t->route == TG_DEAL ? 0 : s->owner;
    const size_t to = t->route == TG_DEAL ? s->owner : 0; /* unless it is spread */
    tg_message message = {.data = tg_flat_at(t->flat, s->begin),
                          .bytes = (s->end - s->begin) * tg_flat_each(t->flat)};
    size_t n = 0;

    if (from == rank) {
        message.send = true;
        for (size_t i = 1; i < size; i++) {
            message.peer = (rank + i) % size;
            if (t->route == TG_SPREAD || message.peer == to)
                messages[n++] = message;
        }
    } else if (t->route == TG_SPREAD || rank == to) {
        message.peer = from;
        messages[n++] = message;
    }
    return n;
}

void tg_partition_send(const tg_partition *partition, tg_flat flat, tg_route route)
{
    const tg_team *team = partition->team;
    struct transport t = {partition, flat, route};

    tg_team_run(team, &(tg_flow){.groups = partition->n,
                                 .window = partition->window,
                                 .messages = team->size,
                                 .list = list_segment,
                                 .context = &t});
}
