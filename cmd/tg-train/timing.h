/*
 * train_timing: a run that is to take some minutes (lib/train/plan.h) keeps to them.
 *
 * The time is that of the whole command; a run that was resumed has taken its earlier time as well.
 */
#ifndef TG_CMD_TRAIN_TIMING_H
#define TG_CMD_TRAIN_TIMING_H

#include "cmd/tg-train/report.h"
#include "cmd/tg-train/setup.h"
#include "lib/train/trainer.h"

typedef struct train_timing {
    double began;      /* when the command did, by cli_now() */
    double before;     /* seconds that the run had taken before it */
    double validation; /* how long the last one took; 0: there was none yet */
    double longer; /* seconds that a step takes longer once its sequences are longer; 0: they will not be */
    bool warned;   /* that the text is short for the time */
} train_timing;

/* Before the first step: measure how much longer a step will take.  No effect unless the run's sequences will
 * become longer. */
void train_timing_measure(train_timing *timing, tg_trainer *trainer);

/* After a step, before what follows it: estimate how many steps the run has, or fix them and say so.  The
 * first process of a team decides for all.  A word, once, if the text is so short that it would be learned by
 * heart.  No effect unless the run's plan is open. */
void train_timing_update(train_timing *timing, train_setup *setup, const train_report *report);

#endif
