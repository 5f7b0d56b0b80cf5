/*
 * trainer: the training step and the validation loss.
 */
#ifndef TG_TRAIN_TRAINER_H
#define TG_TRAIN_TRAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/team.h"
#include "lib/base/watch.h"
#include "lib/gpt/pass.h"
#include "lib/tg/train.h"
#include "lib/train/batches.h"
#include "lib/train/optimizer.h"
#include "lib/train/partition.h"
#include "lib/train/reduction.h"
#include "lib/train/run.h"
#include "lib/train/tree_sum.h"

typedef struct tg_trainer {
    tg_run *run; /* the caller's: model, settings, step */
    const tg_batches *batches;
    tg_batches first; /* the same in shorter windows, if the settings have a first_context */
    const tg_team *team;
    size_t first_pass, end_pass; /* the step's passes that this process computes */
    tg_optimizer optimizer;
    tg_pass pass;
    double weight;   /* of the losses of a step's passes: only predicted tokens count in the mean */
    tg_tree_sum sum; /* after a step: its gradient, as part[0]; in a team only of what this member owns */
    /* in a team of several */
    tg_partition partition;
    tg_reduction reduction;
    tg_part_result *part; /* [reduction.n] gathered in a step */
    double *square;       /* [blocks] likewise: sums of squares, by their owners */
    size_t *square_block; /* [blocks] of which block each of them is */
    size_t *first_square; /* [size + 1] of each member */
    /* in any */
    double *norm_work;     /* [blocks] */
    double *val_losses;    /* of an evaluation's passes */
    tg_windows windows;    /* [B,T] of a pass */
    const tg_watch *watch; /* of a step or an evaluation; NULL: none; the caller may set it */
    tg_watch pass_watch;   /* of one of its passes */
    size_t passes, passes_done;
    tg_arena arena;
} tg_trainer;

/* Bytes that tg_trainer_open() allocates, or SIZE_MAX when a size_t cannot hold them.
 * run->settings and batches must be final. */
size_t tg_trainer_bytes(const tg_run *run, const tg_batches *batches, const tg_team *team);

/* Allocate all memory.  The settings of `run` must be final.  run, batches and team stay the
 * caller's and must outlive the trainer.  The number of threads must not be raised afterwards.
 * After TG_ENOMEM *t needs no close. */
TG_MUST_CHECK tg_status tg_trainer_open(tg_trainer *t, tg_run *run, const tg_batches *batches,
                                        const tg_team *team, tg_err *err);
void tg_trainer_close(tg_trainer *t);

/*
 * In a team each member keeps the moments, and the mean, of what it owns (lib/train/partition.h), and only
 * member 0 has all of them.  Deal them, and the parameters, from member 0 to the others before the first
 * step; collect them at member 0 before a save.
 */
void tg_trainer_deal(tg_trainer *t);
void tg_trainer_collect(tg_trainer *t);

/*
 * Do step number run->step and count it.  TG_EDATA: the loss or the gradient is not finite;
 * *report has the values.  After a failure nothing is updated or counted.
 *
 * t->watch may abandon the step, on which all members of the team agree: then nothing is updated
 * or counted either, and the same step can be done later, with the same result.
 */
TG_MUST_CHECK tg_status tg_trainer_step(tg_trainer *t, tg_step_report *report, tg_err *err);

/* Compute the gradient of a pass of sequences of T tokens, context or first_context, and discard it: to
 * measure the time.  Between steps. */
void tg_trainer_try(tg_trainer *t, size_t T);

/* Number of windows in an evaluation on about `tokens` validation tokens; 0 tokens: all. */
size_t tg_trainer_val_windows(const tg_batches *batches, size_t tokens);

/* Mean loss over the predicted tokens of `windows` >= 1 windows, spread evenly over the validation part,
 * which a team divides.  No dropout.  When a member's t->watch abandons it, t->pass.abandoned is true, and
 * the result NaN. */
double tg_trainer_evaluate(tg_trainer *t, size_t windows);

#endif
