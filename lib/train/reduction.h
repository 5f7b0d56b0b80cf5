/*
 * reduction: the sum of a step's gradients over the members of a team, in the tree's order.
 *
 * Each member has added up the nodes of the tree that lie in its range of passes, its parts
 * (lib/train/tree_sum.h).  It sends each segment of them to the segment's owner (lib/train/partition.h),
 * who adds all members' parts as the tree says: the bits do not depend on the number of members.
 */
#ifndef TG_TRAIN_REDUCTION_H
#define TG_TRAIN_REDUCTION_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/train/partition.h"
#include "lib/base/team.h"
#include "lib/train/tree_sum.h"

/* One part of a member: passes first .. end - 1. */
typedef struct tg_reduction_part {
    size_t member, first, end;
} tg_reduction_part;

/* What a member sends the others of one of its parts. */
typedef struct tg_part_result {
    double loss;
    uint64_t abandoned; /* 1: the part is incomplete, so that nobody uses the sum */
} tg_part_result;

typedef struct tg_reduction {
    const tg_team *team;
    const tg_partition *partition;
    tg_tree_sum *own;
    size_t passes, n;        /* parts of all members */
    tg_reduction_part *part; /* [n] in order */
    size_t *first;           /* [size + 1] the first one of each member; n */
    size_t own_n;            /* parts of this member */
    float *slot;             /* [slots,n - own_n,longest] what is received */
    tg_flow flow;
} tg_reduction;

/* Place what it needs (see arena.h); *partition and *own have been placed. */
void tg_reduction_place(tg_arena *arena, tg_reduction *r, const tg_team *team, const tg_partition *partition,
                        const tg_tree_sum *own);

/* The flow that brings, when it ends, the sum of the segments that this member owns into
 * own->part[0].grads; the rest of that is what it was.  The last of this member's passes has been
 * appended to *own (tg_tree_sum_append()): its segments are added up when they are ready.
 * (Both are named again, because they may have been moved.) */
const tg_flow *tg_reduction_flow(tg_reduction *r, const tg_partition *partition, tg_tree_sum *own);

/* The sum of the losses of all parts [n], in the tree's order. */
double tg_reduction_loss(const tg_reduction *r, const tg_part_result *result);

#endif
