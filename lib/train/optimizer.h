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

#include "lib/base/arena.h"
#include "lib/base/team.h"
#include "lib/gpt/adamw.h"
#include "lib/gpt/muon.h"
#include "lib/train/partition.h"
#include "lib/train/settings.h"

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
    /* and of several members: the parameters that are not hidden, by segment; hidden ones, by segment, and by
     * owner */
    tg_partition rest, momentum, matrices;
} tg_optimizer;

/* Place what the settings' optimizer needs for a model (see arena.h). */
void tg_optimizer_place(tg_arena *arena, tg_optimizer *o, const tg_settings *settings, const tg_params *table,
                        const tg_config *config, const tg_team *team);

/* The segments, of all, of the parameters that have a second moment.  Of a team of several, as below. */
const tg_partition *tg_optimizer_with_v(const tg_optimizer *o, const tg_partition *all);

/* A step: its gradient's norm, its number, from 1, and its learning rate. */
typedef struct tg_optimizer_step {
    double norm, lr;
    uint64_t t;
} tg_optimizer_step;

/* Do a step.  The scratch is for products of the run's precision; *all are the team's segments, read if it
 * has several members. */
void tg_optimizer_update(const tg_optimizer *o, const tg_adamw_state *state, const tg_optimizer_step *step,
                         const tg_matmul_scratch *scratch, const tg_partition *all);

#endif
