/*
 * train: a run that trains a model on a text, and can be stopped and continued.
 *
 *     tg_training_new(&t, "tokens.npz", NULL, &err)            a new model; or a path of one
 *     tg_training_set(t, "steps", "1000", &err)                what is not set has tg-train's defaults
 *     tg_training_begin(t, &err)
 *     while (tg_training_done(t) < tg_training_steps(t))
 *         tg_training_step(t, &report, &err)
 *     tg_training_write(t, fd, &err)
 *     tg_training_destroy(t)
 *
 * Equal runs give equal bytes, those of tg-train, with any number of threads, on processors with the same
 * instruction set; a run that is written, loaded and continued ends with the bytes of one that was not.
 */
#ifndef TG_TG_TRAIN_H
#define TG_TG_TRAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/tg/api.h"
#include "lib/tg/model.h"
#include "lib/tg/status.h"

TG_API_BEGIN

typedef struct tg_training tg_training;

/*
 * Train on the tokens in an archive: the model at path, trained or not, which is loaded like
 * tg_model_load()'s; a run of tg's continues.  NULL: a new model, of tg-train's default shape. TG_EDATA: no
 * tokens, or those of another tokenizer; a model that cannot be trained.  TG_EIO, TG_ENOMEM. *t is NULL after
 * a failure.
 */
TG_MUST_CHECK tg_status tg_training_new(tg_training **t, const char *tokens, const char *model, tg_err *err);
void tg_training_destroy(tg_training *t); /* NULL is fine */

/* Set one of tg-train's settings, before the first step: "steps", "batch", "lr", "seed", "optimizer", ..., as
 * tg-train's options are called, with _ instead of -.  TG_EUSAGE: there is no such setting, or value does not
 * fit it, or a step has been done. */
TG_MUST_CHECK tg_status tg_training_set(tg_training *t, const char *name, const char *value, tg_err *err);

/* Leave parameters as they are that a list names, before the first step: "embedding", "layers:0-11", or a
 * pattern of names, as "*.mlp.*"; separated by commas.  TG_EUSAGE: a word names none, nothing is left to be
 * trained, or the run has begun with others.  TG_ENOMEM: t can only be destroyed. */
TG_MUST_CHECK tg_status tg_training_freeze(tg_training *t, const char *list, tg_err *err);

/* Make the settings final, check them, and allocate all memory; the first step does it otherwise.  TG_EDATA:
 * a setting is out of range, or the text too short; TG_EUSAGE, TG_ENOMEM.  After a failure t can only be
 * destroyed. */
TG_MUST_CHECK tg_status tg_training_begin(tg_training *t, tg_err *err);

/* Steps done, and those of the whole run, which are 0 before tg_training_begin(). */
size_t tg_training_done(const tg_training *t);
size_t tg_training_steps(const tg_training *t);

typedef struct tg_step_report {
    double loss; /* mean over the step's predicted tokens, before the update */
    double lr;
    double grad_norm; /* before clipping */
    bool abandoned;   /* in tg-train, by a signal; else false */
} tg_step_report;

/* Do the next step.  TG_EDATA: the loss or the gradient is not finite; nothing is updated. TG_EUSAGE: all
 * steps are done.  Fails also like tg_training_begin(). */
TG_MUST_CHECK tg_status tg_training_step(tg_training *t, tg_step_report *report, tg_err *err);

/* The mean loss on what is held out; NaN: nothing is.  Fails like tg_training_begin(). */
TG_MUST_CHECK tg_status tg_training_validate(tg_training *t, double *loss, tg_err *err);

/* The model as it is now, which belongs to t and changes with each step.  NULL: a new one, before
 * tg_training_begin(). */
const tg_model *tg_training_model(const tg_training *t);

/* Write the run to fd, which stays open: a model for all tools, which can be continued.  TG_EDATA, and
 * nothing is written: a weight is not finite.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_training_write(const tg_training *t, int fd, tg_err *err);

TG_API_END

#endif
