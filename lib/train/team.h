/*
 * team: processes that compute a step together.
 *
 * A step's passes are dealt to the members in ranges.  Each adds up the gradients of its
 * own (lib/train/tree_sum.h); sum() is the one place where they become the step's.  All
 * else in a step is computed by every member from the same numbers, with the same result.
 */
#ifndef TG_TRAIN_TEAM_H
#define TG_TRAIN_TEAM_H

#include <stddef.h>

#include "lib/base/status.h"
#include "lib/train/tree_sum.h"

typedef struct tg_team {
    size_t rank, size; /* rank < size <= passes of a step */

    /* Merge all members' parts along the tree: *s then has one part, all passes, with the
     * same bits in every member.  On failure the step does not count. */
    tg_status (*sum)(const struct tg_team *team, tg_tree_sum *s, tg_err *err);

    /* The greatest of the members' numbers, for all of them: what one has to heed, as a
     * signal to stop, the others do at the same step. */
    int (*agree)(const struct tg_team *team, int number);

    void *state; /* of the two functions */
} tg_team;

/* One process, which computes all passes itself. */
extern const tg_team tg_team_alone;

/* The range of this member's passes, first .. end - 1 of `passes`: equal shares, as nearly
 * as possible.  Where both numbers are powers of two, a share is one node of the tree. */
void tg_team_range(const tg_team *team, size_t passes, size_t *first, size_t *end);

#endif
