/*
 * state_arrays: a flat buffer of a run's state in its archive: an array for each parameter of a table, whose
 * name is a prefix and the parameter's.  The arrays are float32, also of a buffer of bf16.
 */
#ifndef TG_TRAIN_STATE_ARRAYS_H
#define TG_TRAIN_STATE_ARRAYS_H

#include <stdbool.h>

#include "formats/archive.h"
#include "lib/base/flat.h"
#include "lib/base/status.h"
#include "lib/gpt/params.h"

typedef struct tg_state_arrays {
    const char *prefix;
    tg_flat flat;        /* in the table's order */
    bool without_hidden; /* hidden parameters have none (tg_param.hidden) */
} tg_state_arrays;

/* The parameter of array a, if it has that prefix; else *p is NULL.  TG_EDATA: it has another type or length.
 */
TG_MUST_CHECK tg_status tg_state_array_find(const tg_param **p, const tg_params *table, const char *prefix,
                                            const tg_array *a, tg_err *err);

/* Check that all values are finite.  TG_EDATA, with the name of the first array that has another. */
TG_MUST_CHECK tg_status tg_state_arrays_check_finite(const tg_state_arrays *s, const tg_params *table,
                                                     tg_err *err);

TG_MUST_CHECK tg_status tg_state_arrays_put(const tg_state_arrays *s, const tg_params *table,
                                            tg_archive_writer *w, tg_err *err);

#endif
