/*
 * train_saving: the files of a run: its model and, with --keep-best, its best one.
 *
 * All processes call these functions together, and the first one writes.
 */
#ifndef TG_CMD_TRAIN_SAVING_H
#define TG_CMD_TRAIN_SAVING_H

#include "cmd/tg-train/setup.h"

typedef struct train_saving {
    train_setup *setup;
    tg_trainer *trainer; /* NULL: nothing is trained */
    size_t step;         /* of the last save that was complete; SIZE_MAX: none */
    size_t kept;         /* the step in the target; SIZE_MAX: it is as it was found */
    size_t best_step;    /* of the model in the best one's file; 0: none ... */
    double best_loss;    /* ... and its validation loss */
    struct stat written; /* the file of the last save, also of one that failed */
    bool elsewhere; /* another program has the target's place, or it cannot be replaced: the model is saved
                       under another name */
    bool in_place;  /* the last save failed when its file was already in its place */
} train_saving;

/* Begin with what the setup has found.  If the file of the best model is lost, it is written.  TG_EIO. */
TG_MUST_CHECK tg_status train_saving_begin(train_saving *s, train_setup *setup, tg_trainer *trainer,
                                           tg_err *err);

/* Save the model, unless this step has been saved.  TG_EIO: the message says what is kept; TG_EDATA. */
TG_MUST_CHECK tg_status train_save(train_saving *s, tg_err *err);

/* The same in the course of a run, where a later save may succeed: such a failure is said, and is none.
 * TG_EIO: none will, because another program has replaced the file; TG_EDATA. */
TG_MUST_CHECK tg_status train_save_meanwhile(train_saving *s, tg_err *err);

/*
 * Note the validation loss of the current step; *best: it is less than those before.  Such a model is saved
 * with train_save_best(), or with the loss forgotten if that fails: first the run, which then knows of it,
 * and then the best model's own file.  Failures are those of train_save_meanwhile(); after the last step,
 * those of train_save().
 */
TG_MUST_CHECK tg_status train_save_best(train_saving *s, tg_err *err);

/* "saved model.npz at step 2 of 2" */
void train_say_saved(const train_saving *s);

/* The run has ended early, before its first save or because the loss or a weight is not finite:
 * report which model is left. */
void train_say_what_remains(const train_saving *s);

#endif
