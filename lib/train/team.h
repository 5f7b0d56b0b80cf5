/*
 * team: processes that compute a step together.
 *
 * Each member computes a range of the step's passes and adds up their gradients
 * (lib/train/tree_sum.h); only sum() combines the members' sums.  Every member computes the
 * rest of the step from the same numbers, with the same result.
 */
#ifndef TG_TRAIN_TEAM_H
#define TG_TRAIN_TEAM_H

#include <stddef.h>

#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/train/tree_sum.h"

TG_API_BEGIN

typedef struct tg_team {
    size_t rank, size; /* rank < size <= passes of a step */

    /* Merge all members' parts along the tree: *s then has one part, all passes, with the
     * same bits in every member.  On failure the step does not count. */
    tg_status (*sum)(const struct tg_team *team, tg_tree_sum *s, tg_err *err);

    /* The greatest of the members' numbers, returned to all: a signal to stop that reaches
     * one member stops all of them at the same step. */
    int (*agree)(const struct tg_team *team, int number);

    void *state; /* of the two functions */
} tg_team;

/* One process, which computes all passes itself. */
extern const tg_team tg_team_alone;

/* This member's passes, first .. end - 1 of `passes`, divided as evenly as possible.  If
 * `passes` and team->size are powers of two, a member's range is one node of the tree. */
void tg_team_range(const tg_team *team, size_t passes, size_t *first, size_t *end);

TG_API_END

#endif
