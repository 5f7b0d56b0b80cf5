/*
 * average: the mean of what is trained over the last steps of a run (tg_settings.average), which becomes the
 * model after the last one.  After step k of these, from 1:
 *
 *   mean = mean + (w - mean) / k
 *
 * Until the run is complete, its archive has the mean as opt/a/NAME.
 *
 * Source: Izmailov et al. 2018, arXiv:1803.05407; Kaddour 2022, arXiv:2209.14981.
 */
#ifndef TG_TRAIN_AVERAGE_H
#define TG_TRAIN_AVERAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/archive.h"
#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/params.h"
#include "lib/train/settings.h"

typedef struct tg_average {
    float *mean; /* [floats] in the order of what is trained; NULL: there is none */
    tg_arena memory;
    size_t read; /* arrays so far, while reading */
} tg_average;

/* Of how many steps the mean is after `step` steps; 0: it has not begun. */
size_t tg_average_steps(const tg_settings *s, size_t step);

/* Whether it has begun, and further steps follow. */
bool tg_average_is_unfinished(const tg_settings *s, size_t step);

/* Allocate the mean of a table's parameters, and free an earlier one.  Its values are zeros until step 1
 * overwrites them.  TG_ENOMEM: there is none. */
TG_MUST_CHECK tg_status tg_average_build(tg_average *a, const tg_params *table, tg_err *err);
void tg_average_free(tg_average *a); /* a zeroed one is fine */

/* Add the values w of floats begin .. end - 1 after step k of the mean. */
void tg_average_add(const tg_average *a, const float *w, size_t begin, size_t end, size_t k);

/* Read array x if it is one of a table's means; the first one makes their memory.  TG_EDATA: another type or
 * length, or a value that is not finite; or fails like tg_archive_read(). */
TG_MUST_CHECK tg_status tg_average_take(tg_average *a, const tg_params *table, tg_archive_reader *r,
                                        const tg_array *x, bool *taken, tg_err *err);

/* After reading: all are there if the mean is unfinished after `step` steps, otherwise none.  TG_EDATA. */
TG_MUST_CHECK tg_status tg_average_check(const tg_average *a, const tg_params *table,
                                         const tg_settings *settings, size_t step, tg_err *err);

/* Check that all values are finite.  TG_EDATA, with the name of the first that is not. */
TG_MUST_CHECK tg_status tg_average_check_finite(const tg_average *a, const tg_params *table, tg_err *err);

TG_MUST_CHECK tg_status tg_average_put(const tg_average *a, const tg_params *table, tg_archive_writer *w,
                                       tg_err *err);

#endif
