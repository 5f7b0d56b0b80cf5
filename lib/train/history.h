/*
 * history: the losses of a run's steps, thinned out so that their number is bounded.
 *
 * It begins with every step's.  When it is full, every second loss is dropped, and only every second step
 * is kept from then on; and so on.  What is kept depends on the steps alone, not on where a run was
 * stopped.  Validation losses are not kept: how often they are measured is no part of a run.
 *
 * In an archive: train/history/step and train/history/loss.  A run that began before they were kept has
 * the rest of its steps.
 */
#ifndef TG_TRAIN_HISTORY_H
#define TG_TRAIN_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"

#ifndef TG_HISTORY_MAX      /* tests/fuzz/limits.h */
#define TG_HISTORY_MAX 1024 /* even */
#endif

typedef struct tg_history {
    size_t n_steps, n_losses; /* equal, except while reading */
    int64_t step[TG_HISTORY_MAX];
    double loss[TG_HISTORY_MAX];
} tg_history; /* begins as zeros */

/* The loss of a step, which follows those before it. */
void tg_history_add(tg_history *h, size_t step, double loss);

/* The mean of the last n losses that are kept; NaN: there are fewer. */
double tg_history_mean(const tg_history *h, size_t n);

/* Write it; nothing if it is empty.  Fails like tg_archive_put(). */
TG_MUST_CHECK tg_status tg_history_put(const tg_history *h, tg_archive_writer *w, tg_err *err);

/* Read the current array, if it is one of the two; *taken says whether it is.  TG_EDATA: wrong type or
 * shape. */
TG_MUST_CHECK tg_status tg_history_take(tg_history *h, tg_archive_reader *r, const tg_array *a, bool *taken,
                                        tg_err *err);

/* After reading, in a run that has done `step` steps.  TG_EDATA: no such history can be. */
TG_MUST_CHECK tg_status tg_history_check(const tg_history *h, size_t step, tg_err *err);

#endif
