/*
 * frozen_file: which parameters a run leaves as they are (lib/gpt/freeze.h), in its archive.
 */
#ifndef TG_TRAIN_FROZEN_FILE_H
#define TG_TRAIN_FROZEN_FILE_H

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/gpt/model.h"

#define TG_FROZEN                                                                                            \
    "train/frozen" /* the array's name: a number for each parameter, 1 if it is frozen, else 0 */

/* Read the array, and freeze these parameters.  TG_EDATA: it does not fit the model, or comes after the first
 * tensor; TG_ENOMEM, TG_EIO. */
TG_MUST_CHECK tg_status tg_frozen_take(tg_model *m, tg_archive_reader *r, const tg_array *a, tg_err *err);

/* Write the array of a model with frozen parameters. */
TG_MUST_CHECK tg_status tg_frozen_put(const tg_model *m, tg_archive_writer *w, tg_err *err);

/* Its numbers, table.n of them.  A model in an archive has no more than TG_NAMES_MAX. */
void tg_frozen_flags(const tg_model *m, unsigned char frozen[TG_NAMES_MAX]);

#endif
