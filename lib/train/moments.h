/*
 * moments: the optimizer's state: the moments m and v of all that is trained, in memory and in a run's
 * archive, where they are opt/m/NAME and opt/v/NAME.
 */
#ifndef TG_TRAIN_MOMENTS_H
#define TG_TRAIN_MOMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/archive.h"
#include "lib/base/arena.h"
#include "lib/base/flat.h"
#include "lib/base/status.h"
#include "lib/gpt/params.h"
#include "lib/train/settings.h"

typedef struct tg_moments {
    tg_flat m, v; /* in the order of what is trained */
    tg_arena memory;
    /* while reading: */
    size_t read;          /* arrays so far */
    size_t hidden_v_read; /* of these, v of hidden parameters: Muon has none */
} tg_moments;

/* Those of a table, zeros, of the settings' type, in place of any before.  TG_ENOMEM: there are none. */
TG_MUST_CHECK tg_status tg_moments_build(tg_moments *s, const tg_params *table, const tg_settings *settings,
                                         tg_err *err);
void tg_moments_free(tg_moments *s); /* zeroed ones are fine */

/* Read array a if it is one of a table's moments; the first one makes their memory.  TG_EDATA: another type
 * or length, a value that is not finite, a negative v; or fails like tg_archive_read(). */
TG_MUST_CHECK tg_status tg_moments_take(tg_moments *s, const tg_params *table, const tg_settings *settings,
                                        tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err);

/* After reading: all are there, or none of a run without steps, of the settings' type.  TG_EDATA. */
TG_MUST_CHECK tg_status tg_moments_check(const tg_moments *s, const tg_params *table,
                                         const tg_settings *settings, size_t step, tg_err *err);

TG_MUST_CHECK tg_status tg_moments_put(const tg_moments *s, const tg_params *table,
                                       const tg_settings *settings, tg_archive_writer *w, tg_err *err);

/* Check that a table's values, and its moments, are finite.  TG_EDATA, with the name of the first that is
 * not. */
TG_MUST_CHECK tg_status tg_moments_check_finite(const tg_moments *s, tg_flat values, const tg_params *table,
                                                const tg_settings *settings, tg_err *err);

#endif
