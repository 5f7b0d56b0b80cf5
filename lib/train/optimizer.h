/*
 * optimizer: a step's update of the parameters: AdamW's (lib/gpt/adamw.h), or Muon's of the matrices of the
 * blocks (lib/gpt/muon.h) and AdamW's of the rest.
 *
 * In a team each member updates AdamW's parameters among its segments (lib/train/partition.h).  For Muon's
 * matrices it computes the momentum of its segments and sends it to all; then one member updates each matrix
 * and sends it to all.
 */
#ifndef TG_TRAIN_OPTIMIZER_H
#define TG_TRAIN_OPTIMIZER_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/arena.h"
#include "lib/base/team.h"
#include "lib/gpt/adamw.h"
#include "lib/gpt/muon.h"
#include "lib/train/partition.h"
#include "lib/train/settings.h"

TG_API_BEGIN

typedef struct tg_optimizer {
    const tg_settings *settings;
    const tg_params *table;
    const tg_team *team;
    tg_adamw adamw;
    /* of TG_OPTIMIZER_MUON alone: */
    tg_muon muon;
    size_t *owner; /* [table->n] the member that updates a hidden parameter; of others, the team's size */
    size_t *own;   /* [n_own] this member's parts */
    size_t n_own;
    /* in a team of several: all parameters, by segment; those that are not hidden; hidden ones, by segment
     * and by owner */
    const tg_partition *partition;
    tg_partition rest, momentum, matrices;
} tg_optimizer;

/* Place what the settings' optimizer needs for a model (see arena.h).  In a team of several, *partition has
 * been placed; otherwise it is not read.  The scratch is for products of the run's precision. */
void tg_optimizer_place(tg_arena *arena, tg_optimizer *o, const tg_settings *settings, const tg_params *table,
                        const tg_config *config, const tg_matmul_scratch *scratch,
                        const tg_partition *partition, const tg_team *team);

/* In a team of several: the segments of the parameters that have a second moment, with their owners. */
const tg_partition *tg_optimizer_partition_of_v(const tg_optimizer *o);

/* Do step number t, from 1, with learning rate lr; norm is the gradient's. */
void tg_optimizer_update(const tg_optimizer *o, const tg_adamw_state *state, double norm, double lr,
                         uint64_t t);

TG_API_END

#endif
