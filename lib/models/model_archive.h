/*
 * model_archive: this project's own file of a model, trained or not.
 *
 * Archive: kind = "model", version = 1, config/..., tokenizer/..., chat_template, the
 * run's state (train/..., written by lib/train), probe/tokens, the tensors in the order of the
 * parameter table, optimizer state (opt/m/NAME, opt/v/NAME; opt/a/NAME).
 */
#ifndef TG_MODELS_MODEL_ARCHIVE_H
#define TG_MODELS_MODEL_ARCHIVE_H

#include <stdbool.h>

#include "formats/archive.h"
#include "formats/source.h"
#include "lib/base/status.h"
#include "lib/base/watch.h"
#include "lib/gpt/model.h"
#include "lib/tg/model.h"

#define TG_MODEL_VERSION 1

/*
 * Handles an array that is not the model's own (train/..., opt/...), with the reader at its
 * start; *taken = false rejects it.  m's table is complete at this point, its tensors may not
 * be.
 */
typedef tg_status (*tg_model_extra)(void *context, tg_archive_reader *r, const tg_array *a, bool *taken,
                                    const tg_model *m, tg_err *err);

/*
 * Read a model archive from fd.
 * flat: copy the tensors into m->params; otherwise they stay mapped where they can.
 * extra may be NULL: train/... and opt/... are then skipped (their checksums are still
 * verified).
 * TG_EDATA: an unknown array, a missing or misshapen tensor, a NaN or infinity in one, more
 * weights than a file of that size can hold, another kind of archive, a second archive after
 * the first.  TG_EIO, TG_ENOMEM.  After a failure *m needs no free.
 */
TG_MUST_CHECK tg_status tg_model_read(tg_model *m, int fd, bool flat, tg_model_extra extra, void *context,
                                      tg_err *err);

/* The same from a source, which it takes over, also after a failure.  Tensors stay mapped where they can;
 * what has been checked is taken out of memory until it is used. */
TG_MUST_CHECK tg_status tg_model_read_source(tg_model *m, tg_source *source, tg_err *err);

/* Write the archive's header (kind, version, config, tokenizer, probe); its tensors.
 * TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_model_put_header(const tg_model *m, tg_archive_writer *w, tg_err *err);
TG_MUST_CHECK tg_status tg_model_put_tensors(const tg_model *m, tg_archive_writer *w, const tg_watch *watch,
                                             tg_err *err);

/* The same, watched, but not abandoned. */
TG_MUST_CHECK tg_status tg_model_write_watched(const tg_model *m, int fd, const tg_watch *watch, tg_err *err);

#endif
