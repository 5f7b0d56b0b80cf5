/*
 * partition: which member of a team owns which floats of a model.
 *
 * A flat buffer in the order of the parameter table is cut into segments, each with one owner.
 * A segment is whole blocks of tg_adamw_block() floats, so that every partial sum of the
 * gradient's norm has one owner.  The owners take turns, so that all have work at any time.
 *
 * The buffer is divided in stages, from its end to its beginning: a stage is what a backward pass
 * finishes at once, and its segments are divided among all members.
 */
#ifndef TG_TRAIN_PARTITION_H
#define TG_TRAIN_PARTITION_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/flat.h"
#include "lib/gpt/params.h"
#include "lib/base/team.h"

typedef struct tg_segment {
    size_t begin, end; /* floats */
    size_t owner;
    size_t number; /* among its owner's segments */
} tg_segment;

typedef struct tg_partition {
    const tg_team *team;
    tg_segment *segment; /* [n] in the order in which they are sent */
    size_t n;
    size_t longest; /* floats of a segment */
    size_t window;  /* segments under way at once */
    size_t slots;   /* of one owner, among any `window` segments in a row */
} tg_partition;

/* Divide the parameters of a table among a team's members (see arena.h). */
void tg_partition_place(tg_arena *arena, tg_partition *partition, const tg_params *table,
                        const tg_team *team);

/* The same segments and owners, but only of hidden parameters (tg_param.hidden), or only of the others.  This
 * partition and the next serve tg_partition_send() alone: their segments are not whole blocks. */
void tg_partition_place_some(tg_arena *arena, tg_partition *partition, const tg_params *table,
                             const tg_team *team, bool hidden);

/* The hidden parameters, each of which owner [table->n] gives to one member. */
void tg_partition_place_owned(tg_arena *arena, tg_partition *partition, const tg_params *table,
                              const tg_team *team, const size_t *owner);

/* The number of segments, from the first on, that lie wholly after float `first` of the buffer. */
size_t tg_partition_from(const tg_partition *partition, size_t first);

/* How a flat buffer travels. */
typedef enum tg_route {
    TG_DEAL,   /* from member 0 to each segment's owner */
    TG_SPREAD, /* from each owner to all others */
    TG_COLLECT /* from each owner to member 0 */
} tg_route;

void tg_partition_send(const tg_partition *partition, tg_flat flat, tg_route route);

#endif
