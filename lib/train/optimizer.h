/*
 * optimizer: a step's update of the parameters: AdamW's (lib/gpt/adamw.h), or Muon's of the matrices of the
 * blocks (lib/gpt/muon.h) and AdamW's of the rest.
 *
 * In a team each member has the gradient of the segments that it owns (lib/train/partition.h), and updates
 * what AdamW updates of them.  Of Muon's matrices it adds the gradient to the momentum; the others get
 * that, each matrix is updated by one member, and the others get the matrix.
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
    tg_muon muon; /* used by TG_OPTIMIZER_MUON alone */
    /* in a team of several: of all parameters; and then, of hidden ones alone or all others */
    const tg_partition *partition;
    tg_partition rest, momentum, matrices;
    size_t *owner; /* [table->n] of each hidden parameter; the team's size: none */
} tg_optimizer;

/* Place what the settings' optimizer needs for a model (see arena.h).  In a team of several, *partition has
 * been placed; otherwise it is not read.  The scratch is for products of the run's precision. */
void tg_optimizer_place(tg_arena *arena, tg_optimizer *o, const tg_settings *settings, const tg_params *table,
                        const tg_config *config, const tg_matmul_scratch *scratch,
                        const tg_partition *partition, const tg_team *team);

/* Do step number t, from 1, with learning rate lr; norm is the gradient's. */
void tg_optimizer_update(const tg_optimizer *o, const tg_adamw_state *state, double norm, double lr,
                         uint64_t t);

TG_API_END

#endif
