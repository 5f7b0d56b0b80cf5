/*
 * frozen: which parameters a run leaves as they are (lib/gpt/freeze.h), in its archive and to a team.
 */
#ifndef TG_TRAIN_FROZEN_H
#define TG_TRAIN_FROZEN_H

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/base/team.h"
#include "lib/gpt/model.h"

#define TG_FROZEN "train/frozen" /* the array's name: a number for each parameter, 1 if it is frozen */

/* Read the array, and freeze these parameters.  TG_EDATA: it does not fit the model, or comes after the first
 * tensor; TG_ENOMEM, TG_EIO. */
TG_MUST_CHECK tg_status tg_frozen_take(tg_model *m, tg_archive_reader *r, const tg_array *a, tg_err *err);

/* Write the array of a model with frozen parameters. */
TG_MUST_CHECK tg_status tg_frozen_put(const tg_model *m, tg_archive_writer *w, tg_err *err);

/* Freeze the parameters that are frozen at member 0, which takes part, at the others. */
TG_MUST_CHECK tg_status tg_frozen_spread(tg_model *m, const tg_team *team, tg_err *err);

#endif
